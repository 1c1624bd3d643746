"""Load's event loops, which run in threads without the interpreter, and what they record."""
