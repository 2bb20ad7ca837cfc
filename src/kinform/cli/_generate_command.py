"""``kinform generate``: generates a typed Python package from the definitions of kinds."""

from __future__ import annotations

import argparse
import keyword
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinform.cli._async_runner import run_async

if TYPE_CHECKING:
    from kinform.generate import CustomKind

_DESCRIPTION = """\
Generate a Python package for custom kinds: typed models for the client, and typed informers for
the factory. The schemas come from CustomResourceDefinitions in files, or from a cluster.
"""
_EXAMPLES = """\
examples:
  kinform generate --crd crontab.yaml --out mypkg/
  kinform generate --crd config/crd/bases --crd more.yaml --out mypkg/
  kinform generate --from-cluster stable.example.com/v1 --out mypkg/

Each run generates the whole package, so name all its sources at once. Files of an earlier run are
replaced, or removed if they are no longer needed; other files are not changed.
"""


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "generate",
        help="generate typed models for custom kinds",
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
        help="all kinds that the cluster serves in this group-version; repeatable",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="the folder of the package"
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="PATH",
        help="for --from-cluster (default: the service account in a pod, otherwise as for kubectl)",
    )
    parser.add_argument(
        "--context", metavar="NAME", help="the context in the kubeconfig (default: the current one)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    # Imported here to keep `kinform --help` fast.
    from kinform.generate import read_files, refuse_built_in, render_package, write_files

    if arguments.crd and (arguments.kubeconfig or arguments.context):
        print("kinform: --kubeconfig and --context require --from-cluster", file=sys.stderr)
        return 2
    name = arguments.out.resolve().name
    if not name.isidentifier() or keyword.iskeyword(name):
        print(
            f"kinform: {name!r} is not a name that Python can import; choose another --out",
            file=sys.stderr,
        )
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
        print(f"{arguments.out}: removed files of an earlier run: {', '.join(removed)}")
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
