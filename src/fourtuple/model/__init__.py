"""The kernel's socket tables and port search, version by version, as a pure model: no I/O, no clock."""
