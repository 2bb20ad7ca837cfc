"""``kinform serve``: runs a local API server until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shlex
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinform.cli import _argument_types
from kinform.cli._async_runner import run_async, until_stopped

if TYPE_CHECKING:
    from kinform.testing import ApiServer

_DESCRIPTION = """\
Start an API server on this machine, for kubectl, scripts and tests. It serves the resources of
a current Kubernetes over HTTP, with lists, watches and CRDs, and needs no other software.
All objects are in memory and are lost when the server stops.
"""
_EXAMPLES = """\
examples:
  kinform serve                             an empty cluster on a free port
  kinform serve --living                    a small simulated cluster: nodes, deployments, pods
  kinform serve --tls                       HTTPS, with a random token in the kubeconfig
  kinform serve --load 10000                ten thousand pods of 13 kB in the namespace "load"
  kinform serve --kubeconfig ./kubeconfig   write the kubeconfig there
"""
_LOAD_NAMESPACE = "load"


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "serve",
        help="start a local API server",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--port",
        type=_argument_types.port,
        default=0,
        help="the port to listen on (default: a free one)",
    )
    parser.add_argument("--tls", action="store_true", help="serve HTTPS with a new certificate")
    token = parser.add_mutually_exclusive_group()
    token.add_argument(
        "--token",
        type=_argument_types.token,
        help="require this bearer token (default: a random one with --tls, otherwise none)",
    )
    token.add_argument(
        "--no-token", action="store_true", help="require no token, although --tls is given"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="accept this name in the Host header, besides those of loopback; repeatable",
    )
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="PATH", help="write the kubeconfig to this file"
    )
    parser.add_argument(
        "--history",
        type=_argument_types.count,
        default=10_000,
        metavar="N",
        help="the number of changes kept per resource, for watches to resume (default: 10000)",
    )
    parser.add_argument(
        "--load", type=_argument_types.count, metavar="N", help="start with N pods of 13 kB"
    )
    parser.add_argument("--living", action="store_true", help="simulate a small cluster")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    run_async(_serve(arguments))
    return 0


async def _serve(arguments: argparse.Namespace) -> None:
    # Imported here to keep `kinform --help` fast.
    from kinform.testing import ApiServer

    token = arguments.token
    # Not without TLS: kubectl never sends the token of a kubeconfig to an http:// server.
    if token is None and arguments.tls and not arguments.no_token:
        token = secrets.token_urlsafe(24)
    server = ApiServer(
        port=arguments.port,
        tls=arguments.tls,
        tokens=None if token is None else {token: "admin"},
        history=arguments.history,
        allowed_hosts=arguments.allow_host,
    )
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(server)
        kubeconfig = api.kubeconfig(arguments.kubeconfig)
        if arguments.load:
            _load(api, arguments.load)
        if arguments.living:
            _simulate_cluster(api, await stack.enter_async_context(asyncio.TaskGroup()), stack)
        print(_greeting(api, kubeconfig), flush=True)
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


def _simulate_cluster(api: ApiServer, group: asyncio.TaskGroup, stack: AsyncExitStack) -> None:
    from kinform.testing.cluster_life import ClusterLife

    life = ClusterLife(api)
    life.populate()
    life.settle()
    # Cancelled before the group exits, which would otherwise wait for it.
    stack.callback(group.create_task(life.run()).cancel)


def _greeting(api: ApiServer, kubeconfig: Path) -> str:
    access = "bearer token required" if api.token else "no authentication"
    lines = [
        f"kinform: serving the Kubernetes API on {api.url} ({access})",
        "",
        f"  export KUBECONFIG={shlex.quote(str(kubeconfig.absolute()))}",
        "  kubectl get pods --all-namespaces --watch",
        "",
        "Press Ctrl-C to stop the server and discard its objects.",
    ]
    return "\n".join(lines)
