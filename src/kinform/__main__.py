"""``python -m kinform`` is the ``kinform`` command."""

from __future__ import annotations

import sys

from kinform.cli import main

if __name__ == "__main__":
    sys.exit(main())
