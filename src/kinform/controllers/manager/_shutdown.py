"""Stops components: controllers finish their current key, then everything is cancelled."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kinform.controllers.manager._grace_period import GracePeriod
from kinform.controllers.manager._supervisor import Supervisor, describe

logger = logging.getLogger("kinform.manager")


async def stop_components(members: Sequence[Supervisor], grace: GracePeriod) -> None:
    """Stop components within a grace period, and close them. ``grace.late`` names the late ones."""
    active = [each for each in members if each.is_active]
    finishing = [each for each in active if each.state == "running" and _ask_to_finish(each)]
    # Warm-ups, and pauses before a restart, have nothing to finish.
    for each in active:
        if each.state in ("warming up", "restarting"):
            _cancel(each)
    if grace.grace != 0:
        await grace.let_finish(each.task for each in finishing if each.task is not None)
    unfinished = {each.name for each in finishing if each.is_active}
    for each in active:
        _cancel(each)
    await grace.let_end(each.task for each in active if each.task is not None)
    for each in active:
        if each.is_active:
            grace.late[each.name] = "still runs, although it was cancelled"
            # A second cancellation abandons a call on a thread. Leader-only work is not
            # abandoned: the lease must not be released while it runs.
            if not each.component.needs_leader:
                _cancel(each)
        elif each.name in unfinished and grace.grace != 0:
            grace.late[each.name] = "was cancelled"
    errors = await grace.clean_up({each.name: each.close() for each in members})
    for name, error in errors.items():
        logger.error("%s could not be closed: %s", name, describe(error))
    for each in members:
        each.state = "failed" if each.state == "failed" else "stopped"


def _ask_to_finish(member: Supervisor) -> bool:
    try:
        return member.component.stop()
    except Exception:  # a custom controller
        logger.exception("stop() of %s failed; it is cancelled", member.name)
        return False


def _cancel(member: Supervisor) -> None:
    if member.task is not None and member.is_active:
        member.task.cancel()
