"""Shows the picture in a terminal: repainted ten times a second, or line by line."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections import deque
from types import TracebackType
from typing import Self

from kinform.cli.demo._picture import Health, News, Picture
from kinform.cli.demo._screen import ScreenStatus, draw

_PAUSE = 0.1
_RATE_OVER = 3.0
# The alternate screen, so that the previous content is restored, with a hidden cursor.
_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_MARKS = {Health.GOOD: "+", Health.WAITING: "~", Health.BAD: "!", Health.LEAVING: "-"}


async def print_news(news: asyncio.Queue[News]) -> None:
    """Print one line per change, for logs and pipes, until cancelled or the pipe is closed."""
    while True:
        item = await news.get()
        when = time.strftime("%H:%M:%S")
        print(f"{when} {_MARKS[item.health]} {item.subject} {item.text}", flush=True)


def draw_once(picture: Picture, url: str) -> None:
    size = shutil.get_terminal_size()
    status = ScreenStatus(url, elapsed=0.0, rate=0.0, hint="")
    height = max(20, len(picture.deployments) + 10)
    lines = draw(picture, status, width=size.columns, height=height, colour=_has_colour())
    print("\n".join(lines), flush=True)


def _has_colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


class Painter:
    """Takes over the terminal inside its ``with`` block and restores it afterwards."""

    def __init__(self, picture: Picture, url: str) -> None:
        self._picture = picture
        self._url = url
        self._began = time.monotonic()
        self._seen: deque[tuple[float, int]] = deque()

    def __enter__(self) -> Self:
        sys.stdout.write(_ENTER)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()

    async def run(self) -> None:
        """Paint until cancelled."""
        while True:
            self._paint()
            await asyncio.sleep(_PAUSE)

    def _paint(self) -> None:
        size = shutil.get_terminal_size()
        elapsed = time.monotonic() - self._began
        status = ScreenStatus(self._url, elapsed, rate=self._rate(elapsed), hint="Ctrl-C stops")
        lines = draw(
            self._picture, status, width=size.columns, height=size.lines, colour=_has_colour()
        )
        # Overwrites the old picture without clearing it, to avoid flicker.
        painted = "".join(f"\x1b[{row};1H{line}\x1b[K" for row, line in enumerate(lines, start=1))
        sys.stdout.write(painted)
        sys.stdout.flush()

    def _rate(self, elapsed: float) -> float:
        """Return the changes per second, over the last few seconds."""
        self._seen.append((elapsed, self._picture.changes))
        while len(self._seen) > 1 and elapsed - self._seen[0][0] > _RATE_OVER:
            self._seen.popleft()
        since, before = self._seen[0]
        return (self._picture.changes - before) / (elapsed - since) if elapsed > since else 0.0
