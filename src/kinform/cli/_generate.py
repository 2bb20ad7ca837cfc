"""``kinform generate``: generates a typed Python package from the definitions of kinds."""

from __future__ import annotations

import argparse
import keyword
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinform.cli._running import run_async

if TYPE_CHECKING:
    from kinform.generate import CustomKind

_DESCRIPTION = """\
Write a Python package for kinds of your own: typed models for the client, and typed informers
for the factory. From CustomResourceDefinitions in files, or from what a cluster serves.
"""
_EXAMPLES = """\
examples:
  kinform generate --crd crontab.yaml --out mypkg/
  kinform generate --crd config/crd/bases --crd more.yaml --out mypkg/
  kinform generate --from-cluster stable.example.com/v1 --out mypkg/

One call writes the whole package: name everything that is to be in it. Files that it wrote
before are replaced, and removed if nothing is in them any more; others are never touched.
"""


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "generate",
        help="write typed models for kinds of your own",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--crd",
        type=Path,
        action="append",
        metavar="PATH",
        help="a YAML or JSON file with CustomResourceDefinitions, or a folder of them; repeatable",
    )
    source.add_argument(
        "--from-cluster",
        action="append",
        metavar="GROUP/VERSION",
        help="what the cluster serves there; repeatable",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="the package to write"
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="PATH",
        help="for --from-cluster (default: in a pod its own account, else as kubectl has it)",
    )
    parser.add_argument("--context", metavar="NAME", help="which context of it (default: current)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    # Imported here to keep `kinform --help` fast.
    from kinform.generate import read_files, refuse_built_in, render_package, write_files

    if arguments.crd and (arguments.kubeconfig or arguments.context):
        print("kinform: --kubeconfig and --context go with --from-cluster", file=sys.stderr)
        return 2
    name = arguments.out.resolve().name
    if not name.isidentifier() or keyword.iskeyword(name):
        print(f"kinform: no program can import {name!r}; give --out another name", file=sys.stderr)
        return 2
    kinds: list[CustomKind] = []
    if arguments.crd:
        kinds.extend(read_files(arguments.crd, _warn))
    else:
        run_async(_read_cluster(arguments, kinds))
    refuse_built_in(kinds)
    files = render_package(kinds, _warn)
    removed = write_files(arguments.out, files)
    names = ", ".join(str(kind) for kind in kinds)
    print(f"{arguments.out}: {len(files)} files for {names}")
    if removed:
        print(f"{arguments.out}: removed, as written before and not now: {', '.join(removed)}")
    return 0


async def _read_cluster(arguments: argparse.Namespace, kinds: list[CustomKind]) -> None:
    from kinform.client import Client
    from kinform.generate import read_cluster
    from kinform.transport import AiohttpTransport, ClusterConfig

    if arguments.kubeconfig or arguments.context:
        config = ClusterConfig.from_kubeconfig(arguments.kubeconfig, arguments.context)
    else:
        config = ClusterConfig.from_env()
    transport = AiohttpTransport(config)
    async with Client(config, transport=transport) as client:
        for group_version in dict.fromkeys(arguments.from_cluster):
            kinds.extend(await read_cluster(client, transport, group_version))


def _warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)
