"""``python -m fourtuple``: the command ``fourtuple``."""

from __future__ import annotations

from fourtuple.cli.entry import main

if __name__ == "__main__":
    main()
