"""The store among threads: readers see whole changes, and a late index misses none."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from kinform.informers.store._indexer import Indexer
from kinform.informers.store._store import StoreWrite


class Car(NamedTuple):
    name: str
    color: str = "red"
    resource_version: str = ""


def by_name(car: Car) -> str:
    return car.name


def color(car: Car) -> str:
    return car.color


@pytest.fixture(autouse=True)
def _eager_threads() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def while_reading(write: Callable[[], None], *reads: Callable[[], None]) -> None:
    """Run ``write`` once, and the reads over and over until it is done; any error is the test's."""
    done = threading.Event()

    def repeat(read: Callable[[], None]) -> None:
        read()
        while not done.is_set():
            read()

    with ThreadPoolExecutor(len(reads)) as threads:
        readers = [threads.submit(repeat, read) for read in reads]
        try:
            write()
        finally:
            done.set()
        for reader in readers:
            reader.result()


def test_every_snapshot_is_one_that_existed() -> None:
    store: Indexer[Car] = Indexer(key_func=by_name, indexers={"color": color})
    history: dict[str, set[Car]] = {"": set()}

    def write() -> None:
        cars: dict[str, Car] = {}
        for number in range(1, 1_500):
            version, car = str(number), Car(f"car-{number % 7}", f"c-{number % 3}", str(number))
            step = number % 5
            if step == 0:
                cars = {car.name: car for car in [*cars.values()][1:]} | {car.name: car}
            elif step == 1:
                cars.pop(car.name, None)
            else:
                cars[car.name] = car
            # What a reader may find is written down before it can be found.
            history[version] = set(cars.values())
            if step == 0:
                store.replace([*cars.values()], version)
            elif step == 1:
                store.delete(car)
            elif step == 2:
                store.apply([StoreWrite(car)])
            else:
                store.add(car)

    def take_snapshot() -> None:
        snapshot = store.snapshot()
        assert set(snapshot.list()) == history[snapshot.resource_version]

    def list_and_look_up() -> None:
        assert all(found.name for found in store.list())
        for value in store.index_values("color"):
            assert {found.color for found in store.by_index("color", value)} <= {value}
            assert store.index_keys("color", value) is not None
        names = [found.name for found in store.index("color", Car("", "c-1"))]
        assert len(names) == len(set(names))

    while_reading(write, take_snapshot, list_and_look_up)
    assert set(store.list()) == history["1499"]


def test_no_snapshot_sees_half_a_batch() -> None:
    store: Indexer[Car] = Indexer(key_func=by_name)
    store.replace([Car("a"), Car("b")])

    def write() -> None:
        for number in range(1_000):
            store.apply([StoreWrite(Car("a", f"c-{number}")), StoreWrite(Car("b", f"c-{number}"))])

    def take_snapshot() -> None:
        assert len({car.color for car in store.snapshot().list()}) == 1

    while_reading(write, take_snapshot)


def test_a_relist_shows_in_the_items_and_in_each_index_at_once() -> None:
    store: Indexer[Car] = Indexer(key_func=by_name, indexers={"color": color})
    lists = {paint: [Car(f"car-{n}", paint) for n in range(40)] for paint in ("red", "blue")}
    store.replace(lists["red"])

    def write() -> None:
        for number in range(400):
            store.replace(lists["blue" if number % 2 == 0 else "red"])

    def look_up() -> None:
        assert len(store.by_index("color", "red")) in (0, 40)
        assert len(store.index_values("color")) == 1

    def list_all() -> None:
        assert len({car.color for car in store.list()}) == 1

    while_reading(write, look_up, list_all)


def test_an_index_added_while_another_thread_writes_misses_nothing() -> None:
    for _ in range(20):
        store: Indexer[Car] = Indexer(key_func=by_name)
        store.replace([Car(f"car-{number}") for number in range(100)])

        def write(store: Indexer[Car] = store) -> None:
            for number in range(300):
                car = Car(f"car-{number * 7 % 130}", f"c-{number % 5}")
                if number % 4 == 0:
                    store.delete(car)
                elif number % 50 == 1:
                    store.replace([*store.list()[3:], car])
                else:
                    store.update(car)

        writer = threading.Thread(target=write)
        writer.start()
        store.add_indexers({"color": color})
        store.add_indexers({"name": by_name})
        writer.join()
        expected: dict[str, list[str]] = {}
        for car in store:
            expected.setdefault(car.color, []).append(car.name)
        found = {value: store.index_keys("color", value) for value in store.index_values("color")}
        assert found == {value: sorted(names) for value, names in expected.items()}
        assert sorted(store.index_values("name")) == sorted(store.list_keys())


def test_what_changes_while_an_index_is_built_is_indexed_as_it_is_then() -> None:
    store: Indexer[Car] = Indexer(key_func=by_name)
    store.replace([Car("a"), Car("b"), Car("c"), Car("d")])
    changes: list[Callable[[], None]] = [
        lambda: store.update(Car("a", "blue")),
        lambda: store.delete(Car("b")),
        lambda: store.replace([Car("a", "blue"), Car("c", "green"), Car("d"), Car("e")]),
        lambda: store.update(Car("f", "blue")),
    ]

    def color_in_turmoil(car: Car) -> str:
        if changes:
            changes.pop(0)()
        return car.color

    store.add_indexers({"color": color_in_turmoil})
    assert not changes
    assert {value: store.index_keys("color", value) for value in store.index_values("color")} == {
        "blue": ["a", "f"],
        "green": ["c"],
        "red": ["d", "e"],
    }


@pytest.mark.parametrize("verb", ["add", "replace", "apply"])
def test_an_index_that_comes_while_a_change_is_on_its_way_sees_the_change(verb: str) -> None:
    store: Indexer[Car] = Indexer(key_func=by_name)
    late = [lambda: store.add_indexers({"color": color})]

    def name(car: Car) -> str:
        if late and car.name == "new":
            late.pop()()
        return car.name

    store.add_indexers({"name": name})
    store.add(Car("old"))
    if verb == "add":
        store.add(Car("new", "blue"))
    elif verb == "replace":
        store.replace([Car("old"), Car("new", "blue")])
    else:
        store.apply([StoreWrite(Car("new", "blue"))])
    assert store.index_keys("color", "blue") == ["new"]
    assert store.index_keys("color", "red") == ["old"]
    assert sorted(store.index_values("name")) == ["new", "old"]


def test_an_index_is_not_seen_before_it_is_complete() -> None:
    store: Indexer[Car] = Indexer(key_func=by_name)
    store.replace([Car("a"), Car("b")])
    known: list[list[str]] = []
    relists = [[Car("a"), Car("b"), Car("c")]]

    def watched(car: Car) -> str:
        if relists:
            store.replace(relists.pop())
        known.append([*store.indexers])
        return car.color

    store.add_indexers({"color": watched})
    assert known == [[]] * 5  # three for the relist, and two for what was there before
    assert [*store.indexers] == ["color"]
