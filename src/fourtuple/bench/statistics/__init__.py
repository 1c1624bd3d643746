"""Estimates, tests and what controls their errors: pure, over arrays of metrics."""
