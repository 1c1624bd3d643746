"""A and B measured in turns: settings, their order, and the paired analysis."""
