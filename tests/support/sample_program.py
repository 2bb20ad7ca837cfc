"""Runs the sample controller without leader election; a program for tests that kill it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "sample_controller"))

from controller import new_controller

from kinform import Client
from kinform.controllers import EventRecorder, Manager


async def main() -> None:
    async with Client.from_kubeconfig(sys.argv[1]) as client:
        manager = Manager(client, recorder=EventRecorder(client, "foo-controller"))
        manager.add(new_controller())
        await manager.run_until_signal()


asyncio.run(main())
