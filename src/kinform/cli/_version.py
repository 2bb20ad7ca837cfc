"""``kinform version``: what is installed, one line."""

from __future__ import annotations

import argparse
import platform
from typing import Any


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "version", help="say which kinform this is", description="Say which kinform this is."
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from importlib.metadata import version

    from kinform.testing._generated_resources import VERSION

    python = platform.python_version()
    kubernetes = VERSION["gitVersion"]
    print(
        f"kinform {version('kinform')} (Python {python}, serves the API of Kubernetes {kubernetes})"
    )
    return 0
