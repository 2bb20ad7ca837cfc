"""Things of the other side, and what is nothing at all, are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from kinform import Client, blocking
from kinform.errors import ConfigError
from kinform.informers import ListWatch
from kinform.models.core.v1 import Pod
from kinform.transport import ClusterConfig

CONFIG = ClusterConfig(server="https://cluster.test")
FACTORIES = [
    blocking.SharedInformerFactory,
    blocking.DynamicSharedInformerFactory,
    blocking.MetadataSharedInformerFactory,
]


def no_clients() -> list[Any]:
    return [CONFIG, None, 5, Client(CONFIG)]


@pytest.mark.parametrize("factory", FACTORIES)
def test_a_factory_is_made_of_a_blocking_client(factory: Any) -> None:
    wanted = rf"kinform\.blocking\.{factory.__name__} takes a kinform\.blocking\.Client, not "
    for given in [*no_clients(), blocking.Client(CONFIG).metadata]:
        with pytest.raises(ConfigError, match=wanted):
            factory(given)


def test_so_is_an_informer_of_its_own_and_a_source() -> None:
    for given in no_clients():
        with pytest.raises(ConfigError, match=r"new_informer takes a kinform\.blocking\.Client"):
            blocking.new_informer(Pod, given)
        with pytest.raises(ConfigError, match=r"for_resource takes a kinform\.blocking\.Client"):
            blocking.ListWatch.for_resource(given, Pod)


def test_the_other_sides_client_is_called_by_its_name() -> None:
    other: Any = Client(CONFIG)
    with pytest.raises(
        ConfigError, match=r"not kinform\.client\.Client; create one with kinform\.blocking\."
    ):
        blocking.SharedInformerFactory(other)


def test_an_informer_needs_a_blocking_source() -> None:
    others: list[Any] = [5, None, ListWatch(print, print)]
    for each in others:
        with pytest.raises(ConfigError, match=r"takes a kinform\.blocking\.ListWatch, not "):
            blocking.SharedIndexInformer(each)


def test_who_builds_an_informer_builds_a_blocking_one() -> None:
    factory = blocking.SharedInformerFactory(blocking.Client(CONFIG))
    nobody: Any = None
    with pytest.raises(ConfigError, match=r"takes a function that returns a .*, not None"):
        factory.informer_for(Pod, lambda client, resync_period: nobody)
