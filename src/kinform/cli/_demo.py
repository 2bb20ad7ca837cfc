"""``kinform demo``: a simulated cluster on the embedded server, followed by informers."""

from __future__ import annotations

import argparse
import asyncio
import functools
import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from kinform.cli import _arguments
from kinform.cli._running import run_async, until_stopped

if TYPE_CHECKING:
    from kinform.cli._demo_cluster import Picture

_DESCRIPTION = """\
Watch a little cluster live: deployments roll out and scale, pods come, crash and go, a node
stops answering. It runs on an API server inside this process, and everything you see came
through kinform's informers over HTTP. Nothing is installed and nothing is left behind.
"""
_SECONDS_UNATTENDED = 20.0


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        help="watch a little cluster live",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--seconds",
        type=_arguments.seconds,
        metavar="N",
        help="end after N seconds (default: on Ctrl-C; after 20 where there is no terminal)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--plain", action="store_true", help="a line per event (default where there is no terminal)"
    )
    form.add_argument("--once", action="store_true", help="draw the cluster once, and end")
    parser.add_argument(
        "--seed", type=int, help="the same seed tells the same story (default: a new one)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    run_async(_demo(arguments))
    return 0


async def _demo(arguments: argparse.Namespace) -> None:
    # Imported here to keep `kinform --help` fast.
    from kinform.cli._demo_cluster import News, Picture
    from kinform.cli._demo_follow import Follower
    from kinform.cli._demo_show import Painter, draw_once, tell_all
    from kinform.client import Client
    from kinform.testing import ApiServer
    from kinform.testing.cluster_life import ClusterLife

    seed = arguments.seed if arguments.seed is not None else int.from_bytes(os.urandom(4), "big")
    screen = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(ApiServer())
        client = await stack.enter_async_context(Client(api.config))
        life = ClusterLife(api, seed=seed)
        life.populate()
        picture = Picture()
        follower = Follower(client, picture)
        if arguments.once:
            life.settle()
            async with follower:
                draw_once(picture, api.url)
            return
        if screen and not arguments.plain:
            painter = stack.enter_context(Painter(picture, api.url))
            show: Callable[[], Coroutine[Any, Any, None]] = painter.run
        else:
            print(
                f"A cluster lives on {api.url}; each line is a change that a handler was told.",
                flush=True,
            )
            # Not printed in the handler, because a closed pipe would be reported as its failure.
            news: asyncio.Queue[News] = asyncio.Queue()
            follower.on_news = news.put_nowait
            show = functools.partial(tell_all, news)
        await stack.enter_async_context(follower)
        works = [life.run, show]
        group = await stack.enter_async_context(asyncio.TaskGroup())
        tasks = [group.create_task(work()) for work in works]
        unattended = None if screen else _SECONDS_UNATTENDED
        await until_stopped(arguments.seconds or unattended)
        for task in tasks:
            task.cancel()
    print(_closing(picture), flush=True)


def _closing(picture: Picture) -> str:
    return (
        f"{picture.changes} changes came through 3 informers over HTTP, "
        f"up to resource version {picture.resource_version}.\n"
        "Next:  kinform serve --living    the same cluster, yours to touch with kubectl\n"
        "       kinform serve --help      an API server for your tests"
    )
