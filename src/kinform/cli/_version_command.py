"""``kinform version``: prints the installed version on one line."""

from __future__ import annotations

import argparse
import platform
from typing import Any

from kinform._native import WHY_INTERPRETED
from kinform._version import __version__


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "version", help="print the version", description="Print the version of kinform."
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from kinform.testing.resources import KUBERNETES_VERSION

    way = f"interpreted: {WHY_INTERPRETED}" if WHY_INTERPRETED else "compiled"
    python = f"{way}, Python {platform.python_version()}"
    kubernetes = KUBERNETES_VERSION["gitVersion"]
    print(f"kinform {__version__} ({python}, serves the API of Kubernetes {kubernetes})")
    return 0
