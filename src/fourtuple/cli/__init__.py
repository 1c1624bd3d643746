"""The command line: one module per command, which parses, calls the floors below and prints."""
