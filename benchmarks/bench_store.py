"""Measures a store: reads, lookups, events with and without indices, relists, memory.

Run it with ``python benchmarks/bench_store.py``. Reads are measured in a small store and in a large
one, because their cost must not depend on the size.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from collections.abc import Callable, Iterable
from functools import partial
from itertools import cycle

from kinform.informers.store._index_functions import (
    Indexers,
    field_index,
    label_index,
    namespace_index,
    owner_index,
)
from kinform.informers.store._indexer import Indexer
from kinform.informers.store._table import Table
from kinform.objects import JSON, Record, Unstructured

Work = Callable[[], object]
Relist = dict[str, Record]

GROUP = 10  # objects that share a value of the index that is looked up


def best_of(work: Work, *, calls: int = 2_000, rounds: int = 7) -> float:
    """Microseconds for one call: the best of some rounds."""
    work()
    return min(_timed(work, calls) for _ in range(rounds)) / calls * 1e6


def _timed(work: Work, calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        work()
    return time.perf_counter() - started


def once(work: Work) -> float:
    """Milliseconds for one call."""
    gc.collect()
    return _timed(work, 1) * 1e3


def record(number: int, *, version: int = 1, padding: int = 0) -> Record:
    return Record.read(
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-%d","namespace":"ns-%d",'
        b'"uid":"8f5c1f1e-6f3a-4c59-9d0b-%012d","resourceVersion":"%d",'
        b'"labels":{"app":"app-%d","tier":"web"},'
        b'"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"u-%d"}]'
        b'},"spec":{"nodeName":"node-%d","pad":"%s"}}'
        % (
            number,
            number % 50,
            number,
            version,
            number // GROUP,
            number // 3,
            number % 100,
            b"x" * padding,
        ),
        JSON,
    )


def filled(
    count: int, indexers: Indexers[Unstructured], *, padding: int = 0
) -> Indexer[Unstructured]:
    store: Indexer[Unstructured] = Indexer(indexers=indexers)
    store.table.swap([], relist(count, 1, padding=padding), "1")
    return store


def relist(count: int, version: int, *, padding: int = 0) -> Relist:
    records = (record(number, version=version, padding=padding) for number in range(count))
    return {entry.head.key: entry for entry in records}


ALL: Indexers[Unstructured] = {
    "namespace": namespace_index,
    "app": label_index("app"),
    "owner": owner_index,
}


def row(name: str, figure: float, unit: str = "µs", note: str = "") -> None:
    print(f"{name:44}{figure:12,.2f} {unit:8}{note}")


def print_reads(count: int) -> None:
    store = filled(count, ALL)
    keys = cycle(store.list_keys()[:: max(1, count // 500)])
    row(
        f"get_by_key, {count:,} objects",
        best_of(lambda: store.get_by_key(next(keys))),
        note="≤ 1.5",
    )
    hit = best_of(lambda: store.by_index("app", "app-7"))
    row(f"by_index, {GROUP} found, {count:,} objects", hit, note=f"≤ {5 + 0.2 * GROUP}")
    row(f"by_index, none found, {count:,} objects", best_of(lambda: store.by_index("app", "")))
    found = len(store.by_index("namespace", "ns-1"))
    many = best_of(lambda: store.by_index("namespace", "ns-1"), calls=20)
    row(f"by_index, {found:,} found, {count:,} objects", many)
    if found > GROUP:
        each = (many - hit) / (found - GROUP)
        row("by_index, each further object", each, note="≤ 0.2")
    row(f"snapshot, {count:,} objects", best_of(store.snapshot, calls=5))
    row(f"memory, {count:,} objects", best_of(lambda: store.memory, calls=1, rounds=2))


def print_events(count: int) -> None:
    by_field = {"node": field_index("spec.nodeName")}
    sets: dict[str, Indexers[Unstructured]] = {
        "no index": {},
        "1 index": {"namespace": namespace_index},
        "3 indices": ALL,
        "1 field index, which decodes": by_field,
    }
    for name, indexers in sets.items():
        table = filled(count, indexers).table
        row(f"put over another, {name}", _put_over(table))
        fresh = [record(number) for number in range(count, count + 1_000)]
        row(f"put and remove, {name}", _pair(table, fresh))


def _put_over(table: Table) -> float:
    news = cycle([(entry.head.key, entry) for entry in map(record, range(1_000))])
    return best_of(lambda: table.put(*next(news)))


def _pair(table: Table, fresh: Iterable[Record]) -> float:
    return best_of(lambda: _there_and_back(table, fresh), calls=1) / 1e3


def _there_and_back(table: Table, fresh: Iterable[Record]) -> None:
    for entry in fresh:
        table.put(entry.head.key, entry)
    for entry in fresh:
        table.remove(entry.head.key)


def print_relists(count: int) -> None:
    """Milliseconds, and the bytes held on the way beside the objects of either list."""
    store = filled(count, ALL, padding=5_000)
    same = store.table.copy()[0]
    relists: dict[str, Callable[[int], Relist]] = {
        f"swap, {count:,} unchanged": lambda version: same,
        f"swap, 100 of {count:,} changed": lambda version: relist(100, version),
        f"swap, {count:,} all new": lambda version: relist(count, version),
    }
    for name, make in relists.items():
        timed, traced = make(2), make(3)
        spent = once(partial(store.table.swap, [], timed, "2"))
        tracemalloc.start()
        store.table.swap([], traced, "3")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        row(name, spent, "ms", f"peak + {peak / 1e6:.1f} MB")
    late = filled(count, {})
    row(f"add_indexers, 3 over {count:,}", once(lambda: late.add_indexers(ALL)), "ms")


def print_memory(count: int) -> None:
    store = filled(count, ALL)
    row("bytes of one entry", store.memory / count, "bytes", "without padding")
    entry = record(0)
    row("bytes of one entry, to count them", best_of(lambda: entry.memory))
    for name, held in store.index_memory.items():
        row(
            f"index {name}, {len(store.index_values(name)):,} values", held / count, "bytes", "each"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small stores: does it run at all")
    quick = parser.parse_args().quick
    print_reads(1_000)
    print_reads(2_000 if quick else 100_000)
    print_events(1_000 if quick else 20_000)
    print_relists(1_000 if quick else 20_000)
    print_memory(1_000 if quick else 20_000)


if __name__ == "__main__":
    main()
