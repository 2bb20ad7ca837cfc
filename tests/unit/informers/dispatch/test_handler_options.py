"""What may be registered, and what is refused with a way out."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from kinform.api import LabelSelector
from kinform.errors import ConfigError
from kinform.informers._changes import DeletedObject
from kinform.informers.dispatch._handler_options import HandlerOptions, SubscriptionOptions


def plain(*arguments: object) -> None:
    """A callback of any kind."""


async def coroutine(*arguments: object) -> None:
    """An async one."""


class Plain:
    def on_add(self, obj: object, is_in_initial_list: bool) -> None:
        """Told of additions."""

    def on_delete(self, deleted: DeletedObject[Any]) -> None:
        """Told of deletions."""

    def __call__(self, *arguments: object) -> None:
        """A callback itself."""


class Async:
    async def on_update(self, old: object, new: object) -> None:
        """Told of updates."""

    async def __call__(self, *arguments: object) -> None:
        """A callback itself."""


class Mixed(Plain):
    async def on_update(self, old: object, new: object) -> None:
        """Of another colour than the rest."""


def options(**given: Any) -> HandlerOptions[Any]:
    return HandlerOptions(**given)


@pytest.mark.parametrize(
    "callback",
    [
        coroutine,
        functools.partial(coroutine, 1),
        functools.partial(functools.partial(coroutine, 1), 2),
        Async(),
        Async().on_update,
        functools.partial(Async(), 1),
    ],
    ids=repr,
)
def test_an_async_callback_is_known_in_every_disguise(callback: Any) -> None:
    assert options(on_add=callback).callbacks().is_async


@pytest.mark.parametrize(
    "callback", [plain, functools.partial(plain, 1), Plain(), Plain().on_add, print], ids=repr
)
def test_a_plain_callback_is_known_in_every_disguise(callback: Any) -> None:
    assert not options(on_add=callback).callbacks().is_async


def test_a_handler_object_needs_any_one_of_the_methods() -> None:
    callbacks = options(handler=Async()).callbacks()
    assert callbacks.is_async
    assert callbacks.on_update is not None
    assert (callbacks.on_add, callbacks.on_delete) == (None, None)


def test_only_a_handler_object_gets_the_flag() -> None:
    told: list[tuple[object, ...]] = []

    class Detailed:
        def on_add(self, obj: object, is_in_initial_list: bool) -> None:
            told.append((obj, is_in_initial_list))

    for given in (options(on_add=lambda *all: told.append(all)), options(handler=Detailed())):
        on_add = given.callbacks().on_add
        assert on_add is not None
        on_add("pod", True)
    assert told == [("pod",), ("pod", True)]


def test_a_name_is_given_or_that_of_the_handler() -> None:
    assert options(on_add=plain, name="mine").callbacks().name == "mine"
    assert options(on_delete=functools.partial(plain, 1)).callbacks().name == "plain"
    assert options(handler=Plain()).callbacks().name == "Plain"
    assert options(on_add=Plain().on_add).callbacks().name == "Plain.on_add"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "none of on_add, on_update, on_delete"),
        ({"handler": object()}, "object has none of on_add"),
        ({"handler": Plain}, "Plain is a class"),
        ({"handler": Plain(), "on_add": plain}, "not both"),
        ({"handler": Mixed()}, "Mixed: on_add is def, on_update is async def, on_delete is def"),
        ({"on_add": plain, "on_delete": coroutine}, "on_add is def, on_delete is async def"),
        ({"on_add": "print"}, "on_add must be a function, not 'print'"),
    ],
    ids=str,
)
def test_what_cannot_be_a_handler_is_refused(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        options(**given)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"policy": "drop"}, "policy must be one of unbounded, block, coalesce, not 'drop'"),
        ({"capacity": 0}, "capacity must be .* not 0"),
        ({"capacity": 1.5}, "capacity must be .* not 1.5"),
        ({"resync_period": -1.0}, "resync_period must be .* not -1.0"),
        ({"resync_period": float("nan")}, "resync_period must be .* not nan"),
        ({"resync_period": float("inf")}, "resync_period must be .* not inf"),
        ({"resync_period": "30s"}, "resync_period must be .* not '30s'"),
        ({"filter": "app=web"}, r"filter must be .*, not 'app=web'; .* LabelSelector\.parse"),
        ({"filter": coroutine}, "filter must not be async: make coroutine a plain def"),
    ],
    ids=str,
)
def test_an_option_that_cannot_be_meant_is_refused_by_name(
    given: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        options(on_add=plain, **given)
    with pytest.raises(ConfigError, match=complaint):
        SubscriptionOptions(**given)


def test_sensible_options_pass() -> None:
    for filter in (None, bool, LabelSelector.parse("app=web")):
        given = options(on_add=plain, filter=filter, resync_period=0, policy="block", capacity=1)
        assert given.filter is filter


def test_on_event_replaces_the_callbacks_for_the_types() -> None:
    received: list[object] = []

    callbacks = options(on_event=received.append).callbacks()

    assert callbacks.on_event is not None
    assert (callbacks.on_add, callbacks.on_update, callbacks.on_delete) == (None, None, None)


@pytest.mark.parametrize("others", [{"on_add": plain}, {"handler": Plain()}])
def test_on_event_beside_other_callbacks_is_an_error(others: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="pass it alone"):
        options(on_event=plain, **others)
