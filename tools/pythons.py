"""Finds the installed Pythons that kinform supports: on the PATH, and those of pyenv.

python tools/pythons.py                 # a line for each, such as 3.12=/usr/bin/python3.12
python tools/pythons.py --newest-but 3.11   # the line of the newest one that is not 3.11
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SUPPORTED = ("3.11", "3.12", "3.13", "3.14")


def installed() -> dict[str, str]:
    """Return the interpreter of each supported version that is installed, oldest first."""
    found = {}
    for version in SUPPORTED:
        usable = (each for each in _candidates(version) if _version_of(each) == version)
        if interpreter := next(usable, None):
            found[version] = interpreter
    return found


def _candidates(version: str) -> Iterator[str]:
    if on_path := shutil.which(f"python{version}"):
        yield on_path
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    # The second one is where this interpreter is, whatever the home folder is.
    for versions in (root / "versions", Path(sys.base_prefix).parent):
        releases = versions.glob(f"{version}.*")
        for folder in sorted(releases, key=_numbers, reverse=True):
            yield str(folder / "bin" / "python")


def _numbers(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.name)]


def _version_of(interpreter: str) -> str:
    """Ask the interpreter: a shim of pyenv is on the PATH even if its version is not selected."""
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(
            [interpreter, "-c", script], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--newest-but", metavar="VERSION", help="only the newest other one")
    wanted = parser.parse_args().newest_but
    lines = [f"{version}={path}" for version, path in installed().items() if version != wanted]
    print("\n".join(lines[-1:] if wanted else lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
