"""Generates ``docs/api``: the public names with their signatures and docstrings.

    python -m tools.api_reference            # writes the pages that differ
    python -m tools.api_reference --check    # writes nothing; fails and names the pages that differ

It reads the source and imports nothing: signatures are as written there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools.api_reference.pages import OUTPUT, Reference, public_packages
from tools.api_reference.source import ROOT


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.api_reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args(argv)
    files = Reference(public_packages()).files()
    written = {path: path.read_text("utf-8") for path in OUTPUT.glob("*.md")}
    differing = [path for path in {**files, **written} if files.get(path) != written.get(path)]
    if arguments.check:
        for path in differing:
            print(f"{path.relative_to(ROOT)} is not up to date; run `make generate`")
        return 1 if differing else 0
    OUTPUT.mkdir(exist_ok=True)
    for path in differing:
        if path in files:
            path.write_text(files[path], "utf-8")
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
