"""The files that flags name."""

from __future__ import annotations

from .errors import file_refused


def check_writable(flag: str, path: str) -> None:
    """Raise FileRefused, which names the flag, if the file cannot be written; "" is no file. What is in it stays."""
    if not path:
        return
    try:
        with open(path, "a", encoding="ascii"):
            pass
    except OSError as error:
        raise file_refused(flag, path, error) from error
