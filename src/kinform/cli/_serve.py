"""``kinform serve``: runs a local API server until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinform.cli import _arguments
from kinform.cli._running import run_async, until_stopped

if TYPE_CHECKING:
    from kinform.testing import ApiServer

_DESCRIPTION = """\
Start an API server on this machine: real HTTP, the resources of a current Kubernetes, lists,
watches, CRDs, and nothing else to install. It holds everything in memory and forgets it when
it stops. For kubectl, for scripts, and for trying out what you build on kinform.
"""
_EXAMPLES = """\
examples:
  kinform serve                             an empty cluster on a free port
  kinform serve --living                    nodes, deployments, and pods that come and go
  kinform serve --tls --token secret        HTTPS, and only who knows the token gets in
  kinform serve --load 10000                ten thousand pods of 13 kB in the namespace "load"
  kinform serve --kubeconfig ./kubeconfig   write the kubeconfig there
"""
_LOAD_NAMESPACE = "load"


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "serve",
        help="start an API server of your own",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--port", type=_arguments.port, default=0, help="where to listen (default: a free port)"
    )
    parser.add_argument("--tls", action="store_true", help="HTTPS, with a certificate made for it")
    parser.add_argument(
        "--token", type=_arguments.token, help="ask for this bearer token (default: ask nobody)"
    )
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="PATH", help="where to write the kubeconfig"
    )
    parser.add_argument(
        "--history",
        type=_arguments.count,
        default=10_000,
        metavar="N",
        help="how many changes a watch can go back (default: 10000)",
    )
    parser.add_argument(
        "--load", type=_arguments.count, metavar="N", help="start with N pods of 13 kB"
    )
    parser.add_argument("--living", action="store_true", help="let a little cluster live on it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    run_async(_serve(arguments))
    return 0


async def _serve(arguments: argparse.Namespace) -> None:
    # Imported here to keep `kinform --help` fast.
    from kinform.testing import ApiServer

    tokens = None if arguments.token is None else {arguments.token: "admin"}
    server = ApiServer(
        port=arguments.port, tls=arguments.tls, tokens=tokens, history=arguments.history
    )
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(server)
        kubeconfig = api.kubeconfig(arguments.kubeconfig)
        if arguments.load:
            _load(api, arguments.load)
        if arguments.living:
            _bring_to_life(api, await stack.enter_async_context(asyncio.TaskGroup()), stack)
        print(_greeting(api, kubeconfig, arguments), flush=True)
        await until_stopped()
    print("kinform: stopped", flush=True)


def _load(api: ApiServer, pods: int) -> None:
    from kinform.testing.cluster_life import realistic_pod_json

    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": _LOAD_NAMESPACE},
    }
    api.create(namespace)
    api.load(realistic_pod_json(index, namespace=_LOAD_NAMESPACE) for index in range(pods))


def _bring_to_life(api: ApiServer, group: asyncio.TaskGroup, stack: AsyncExitStack) -> None:
    from kinform.testing.cluster_life import ClusterLife

    life = ClusterLife(api)
    life.populate()
    life.settle()
    # Cancelled before the group exits, which would otherwise wait for it.
    stack.callback(group.create_task(life.run()).cancel)


def _greeting(api: ApiServer, kubeconfig: Path, arguments: argparse.Namespace) -> str:
    entry = "bearer token" if arguments.token else "open to all on this machine"
    lines = [
        f"kinform: serving the Kubernetes API on {api.url} ({entry})",
        "",
        f"  export KUBECONFIG={shlex.quote(str(kubeconfig.absolute()))}",
        "  kubectl get pods --all-namespaces --watch",
        "",
        "Ctrl-C stops it; what it holds is then gone.",
    ]
    return "\n".join(lines)
