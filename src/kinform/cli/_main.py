"""Parses the arguments, runs one command and returns the exit code.

0: the command succeeded or was stopped. 1: it failed. 2: the arguments are invalid.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from kinform.cli import (
    _controller_manager_command,
    _generate_command,
    _serve_command,
    _version_command,
    demo,
)
from kinform.errors import KinformError

_COMMANDS = (
    _serve_command,
    demo,
    _controller_manager_command,
    _generate_command,
    _version_command,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``kinform`` with these arguments, by default those of the process."""
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
        if arguments.run is None:
            parser.print_help(sys.stderr)
            return 2
    except SystemExit as done:
        # argparse has already printed its help or the error.
        return done.code if isinstance(done.code, int) else 2
    try:
        return int(arguments.run(arguments))
    except KinformError as error:
        print(f"kinform: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        # The reader closed the pipe (`kinform demo | head`). Without this, Python would report an
        # error when it flushes the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kinform",
        description="The informer stack for Python. Most commands work without a cluster.",
        epilog="`kinform COMMAND --help` describes the options of a command.",
    )
    parser.set_defaults(run=None)
    parser.add_argument(
        "--version",
        action="store_const",
        const=_version_command.run,
        dest="run",
        help="same as `kinform version`",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in _COMMANDS:
        command.add_command(commands)
    return parser
