"""Parses the options of ``kinform demo`` and runs it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import Any

from kinform.cli import _argument_types
from kinform.cli._async_runner import run_async, until_stopped

_DESCRIPTION = """\
Show a small simulated cluster: deployments roll out and scale, pods start, crash and terminate,
a node stops reporting. The cluster runs on an API server in this process, and everything on the
screen was received by kinform's informers over HTTP. On the way, the demo resets their
connections and discards the history that they would resume from. At the end it compares each
change on the server with what the handlers received, and fails if one was lost. The demo
installs nothing and leaves nothing behind.
"""
_SECONDS = 24.0
_PATIENCE = 15.0
_NEXT = """\
Next:  kinform serve --living    the same cluster, for use with kubectl
       kinform serve --help      an API server for your tests"""


def add_command(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        help="show a small simulated cluster",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--seconds",
        type=_argument_types.seconds,
        metavar="N",
        default=_SECONDS,
        help="stop after N seconds, or on Ctrl-C (default: %(default)g)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--plain", action="store_true", help="print one line per event (default without a terminal)"
    )
    form.add_argument("--once", action="store_true", help="draw the cluster once and exit")
    parser.add_argument(
        "--seed", type=int, help="the seed of the simulation, to repeat a run (default: random)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    return run_async(_once(arguments) if arguments.once else _demo(arguments))


def _seed(arguments: argparse.Namespace) -> int:
    return arguments.seed if arguments.seed is not None else int.from_bytes(os.urandom(4), "big")


async def _once(arguments: argparse.Namespace) -> int:
    # Imported here to keep `kinform --help` fast.
    from kinform.cli.demo._follower import Follower
    from kinform.cli.demo._ledger import Ledger
    from kinform.cli.demo._picture import Picture
    from kinform.cli.demo._terminal import draw_once
    from kinform.client import Client
    from kinform.testing import ApiServer
    from kinform.testing.cluster_life import ClusterLife

    async with ApiServer() as api, Client(api.config) as client:
        life = ClusterLife(api, seed=_seed(arguments))
        life.populate()
        life.settle()
        picture = Picture()
        async with Follower(client, picture, Ledger()):
            draw_once(picture, api.url)
    return 0


async def _demo(arguments: argparse.Namespace) -> int:
    from kinform.cli.demo._follower import Follower
    from kinform.cli.demo._ledger import Ledger, RecordedApi
    from kinform.cli.demo._picture import RESOURCES, News, Picture
    from kinform.cli.demo._proof import prove
    from kinform.cli.demo._terminal import Painter, print_news
    from kinform.cli.demo._troubles import Troubles
    from kinform.client import Client
    from kinform.testing import ApiServer
    from kinform.testing.cluster_life import ClusterLife

    screen = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    picture, ledger = Picture(), Ledger()
    async with AsyncExitStack() as stack:
        stack.enter_context(_silent_logs())
        api = await stack.enter_async_context(ApiServer())
        client = await stack.enter_async_context(Client(api.config))
        life = ClusterLife(RecordedApi(api, ledger, RESOURCES), seed=_seed(arguments))
        life.populate()
        follower = Follower(client, picture, ledger)
        troubles = Troubles(api, follower, ledger, arguments.seconds)
        if screen and not arguments.plain:
            painter = stack.enter_context(Painter(picture, api.url))
            show: Callable[[], Coroutine[Any, Any, None]] = painter.run
        else:
            print(
                f"A simulated cluster runs on {api.url}; each line is a change that a handler "
                "received.",
                flush=True,
            )
            # Not printed in the handler, because a closed pipe would be reported as its failure.
            news: asyncio.Queue[News] = asyncio.Queue()
            follower.on_news = news.put_nowait
            show = functools.partial(print_news, news)
        await stack.enter_async_context(follower)
        since = int(api.resource_version)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work()) for work in (troubles.run, life.run, show)]
            if not await until_stopped(arguments.seconds):
                # On a slow machine, the informers may need more time to recover.
                await asyncio.wait(tasks[:1], timeout=_PATIENCE)
            for task in tasks:
                task.cancel()
        proof = await prove(api, follower, ledger, troubles, since=since)
    print("Nothing was lost:" if proof.holds else "The check failed:", proof, sep="\n")
    print(_NEXT, flush=True)
    return 0 if proof.holds else 1


@contextlib.contextmanager
def _silent_logs() -> Iterator[None]:
    """Keep warnings about broken connections, which are intended here, off the screen."""
    logger, handler = logging.getLogger("kinform"), logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
