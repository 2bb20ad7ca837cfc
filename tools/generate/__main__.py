"""Generates the models of all built-in kinds from ``tools/schema/kubernetes.json``.

python -m tools.generate            # writes the files that differ
python -m tools.generate --check    # writes nothing; fails and names the files that differ
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools.generate.files import ROOT, differing, obsolete, rendered


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args(argv)
    files = rendered()
    changed, gone = differing(files), obsolete(files)
    if arguments.check:
        for path in (*changed, *gone):
            print(
                f"{path.relative_to(ROOT)} is not up to date; run `python -m tools.generate`",
                file=sys.stderr,
            )
        return 1 if changed or gone else 0
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    for path in gone:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
