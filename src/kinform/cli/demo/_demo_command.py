"""Parses the options of ``kinform demo`` and runs it."""

from __future__ import annotations

import argparse
import asyncio
import functools
import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from kinform.cli import _argument_types
from kinform.cli._async_runner import run_async, until_stopped

if TYPE_CHECKING:
    from kinform.cli.demo._picture import Picture

_DESCRIPTION = """\
Show a small simulated cluster: deployments roll out and scale, pods start, crash and terminate,
a node stops reporting. The cluster runs on an API server in this process, and everything on the
screen was received by kinform's informers over HTTP. The demo installs nothing and leaves
nothing behind.
"""
_SECONDS_UNATTENDED = 20.0


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
        help="stop after N seconds (default: on Ctrl-C, or after 20 without a terminal)",
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
    run_async(_demo(arguments))
    return 0


async def _demo(arguments: argparse.Namespace) -> None:
    # Imported here to keep `kinform --help` fast.
    from kinform.cli.demo._follower import Follower
    from kinform.cli.demo._picture import News, Picture
    from kinform.cli.demo._terminal import Painter, draw_once, print_news
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
                f"A simulated cluster runs on {api.url}; each line is a change that a handler "
                "received.",
                flush=True,
            )
            # Not printed in the handler, because a closed pipe would be reported as its failure.
            news: asyncio.Queue[News] = asyncio.Queue()
            follower.on_news = news.put_nowait
            show = functools.partial(print_news, news)
        await stack.enter_async_context(follower)
        group = await stack.enter_async_context(asyncio.TaskGroup())
        tasks = [group.create_task(work()) for work in (life.run, show)]
        unattended = None if screen else _SECONDS_UNATTENDED
        await until_stopped(arguments.seconds or unattended)
        for task in tasks:
            task.cancel()
    print(_summary(picture), flush=True)


def _summary(picture: Picture) -> str:
    return (
        f"{picture.changes} changes received by 3 informers over HTTP, "
        f"up to resource version {picture.resource_version}.\n"
        "Next:  kinform serve --living    the same cluster, for use with kubectl\n"
        "       kinform serve --help      an API server for your tests"
    )
