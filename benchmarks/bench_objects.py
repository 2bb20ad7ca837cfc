"""Measures objects: heads, parts, wholes, handles and memory, compared with decoding to dicts.

Run it with ``python benchmarks/bench_objects.py``. Ratios matter, not the figures themselves.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.reading import read_everything
from kinform.api import GVK
from kinform.informers import Admission, strip_managed_fields
from kinform.models.core.v1 import Pod
from kinform.objects import JSON, Record, Unstructured
from kinform.protobuf import codec_for
from kinform.testing.cluster_life import realistic_pod_json

POD = GVK("", "v1", "Pod")

Work = Callable[[bytes], object]


def best_of(work: Work, payload: bytes, *, rounds: int = 5, seconds: float = 0.2) -> float:
    """Seconds for one call: the best of some rounds, each of about the given length."""
    calls, spent = 1, 0.0
    while spent < seconds / 4:
        calls *= 2
        spent = _timed(work, payload, calls)
    calls = max(1, int(calls * seconds / spent))
    return min(_timed(work, payload, calls) for _ in range(rounds)) / calls


def _timed(work: Work, payload: bytes, calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        work(payload)
    return time.perf_counter() - started


def works(payload: bytes) -> dict[str, Work]:
    record = Record.read(payload, JSON)
    editable = Unstructured.over(record).copy()
    tree = editable.to_dict()
    touched, own = Pod.over(record), Pod.over(record).copy()
    own.spec.node_name = touched.spec.node_name
    return {
        "json.loads": json.loads,
        "msgspec to dict": msgspec.json.decode,
        "head (Record.read)": lambda text: Record.read(text, JSON),
        "handle over a record": lambda _: Unstructured.over(record),
        "handle, name and labels": lambda _: _name_and_labels(Unstructured.over(record)),
        "handle, one part (status)": lambda _: Unstructured.over(record)["status"],
        "handle, absent part": lambda _: Unstructured.over(record).get("data"),
        "handle, whole (to_dict)": lambda _: Unstructured.over(record).to_dict(),
        "copy of a view": lambda _: Unstructured.over(record).copy(),
        "copy of an editable": lambda _: editable.copy(),
        "to_bytes": lambda _: editable.to_bytes(),
        "msgspec encode": lambda _: msgspec.json.encode(tree),
        "typed, first .spec": lambda _: Pod.over(record).spec,
        "typed, next .spec": lambda _: touched.spec,
        "typed, first .metadata": lambda _: Pod.over(record).metadata,
        "typed, first .status": lambda _: Pod.over(record).status,
        "typed, copy and edit": lambda _: _edited(Pod.over(record)),
        "typed, edited to_bytes": lambda _: own.to_bytes(),
    }


def _name_and_labels(handle: Unstructured) -> tuple[str, dict[str, str]]:
    return handle.name, handle.labels


def _edited(pod: Pod) -> Pod:
    own = pod.copy()
    own.spec.node_name = "elsewhere"
    return own


def print_speed(payload: bytes) -> None:
    timings = {name: best_of(work, payload) for name, work in works(payload).items()}
    print(f"{'':28}{'µs':>9}{'objects/s':>13}{'vs json.loads':>15}{'vs msgspec':>12}")
    for name, seconds in timings.items():
        against_json = timings["json.loads"] / seconds
        against_msgspec = timings["msgspec to dict"] / seconds
        print(
            f"{name:28}{seconds * 1e6:9.2f}{1 / seconds:13,.0f}"
            f"{against_json:15.1f}{against_msgspec:12.1f}"
        )


def print_memory(payload: bytes, count: int) -> None:
    """Bytes an object, and what the collector pays to walk them all."""
    print(f"\n{'at rest':28}{'bytes each':>12}{'gc.collect() ms':>17}   ({count:,} objects)")
    forms: dict[str, Work] = {
        "records": lambda text: Record.read(bytes(bytearray(text)), JSON),
        "dicts (msgspec)": msgspec.json.decode,
        "dicts (json.loads)": json.loads,
    }
    for name, make in forms.items():
        gc.collect()
        tracemalloc.start()
        kept = [make(payload) for _ in range(count)]
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        started = time.perf_counter()
        gc.collect()
        walked = time.perf_counter() - started
        print(f"{name:28}{held / count:12,.0f}{walked * 1e3:17.1f}")
        if isinstance(kept[0], Record):
            told = sum(record.memory for record in kept if isinstance(record, Record))
            print(f"{'  reported by record.memory':28}{told / count:12,.0f}")


def print_reading(payload: bytes) -> None:
    """What a typed object costs who reads two fields of it, or all, from either form."""
    print(f"\n{'typed, from bytes':28}{'protobuf µs':>13}{'JSON µs':>13}{'JSON/protobuf':>15}")
    binary = codec_for(POD)
    assert binary is not None
    message = binary.encode(JSON.decode(payload))
    # Two of each, in turn: a codec remembers the message that it has parsed last.
    forms = [
        itertools.cycle([Record.read(bytes(bytearray(each)), codec) for _ in range(2)])
        for each, codec in ((message, binary), (payload, JSON))
    ]
    works: dict[str, Callable[[Pod], object]] = {
        "two fields": lambda pod: (pod.status.phase, pod.spec.node_name),
        "an image": lambda pod: pod.spec.containers[0].image,
        "whole": read_everything,
    }
    for name, read in works.items():
        pair = [_reading(read, records) for records in forms]
        # In turns, so that a busy moment of the machine meets both.
        turns = [
            [best_of(work, payload, rounds=1, seconds=0.02) for work in pair] for _ in range(25)
        ]
        protobuf, text = map(min, zip(*turns, strict=True))
        print(f"{name:28}{protobuf * 1e6:13.2f}{text * 1e6:13.2f}{text / protobuf:15.2f}")


def _reading(read: Callable[[Pod], object], records: Iterator[Record]) -> Work:
    return lambda _: read(Pod.over(next(records)))


def print_stripping(payload: bytes) -> None:
    """What it costs to take managedFields away, by bytes and by hand, and what it saves."""
    print(f"\n{'managedFields stripped':28}{'µs':>9}{'bytes each':>13}{'left':>9}")
    binary = codec_for(POD)
    assert binary is not None
    text = Record.read(payload, JSON)
    message = Record.read(binary.encode(JSON.decode(payload)), binary)
    records = {"JSON": text, "protobuf": message}
    records |= {f"{name}, metadata": each.only_metadata() for name, each in records.items()}
    for name, record in records.items():
        seconds = best_of(_on(record, strip_managed_fields.transform_record), payload)
        left = strip_managed_fields.transform_record(record).memory
        print(f"{name:28}{seconds * 1e6:9.2f}{record.memory:13,}{left / record.memory:9.0%}")
    for name, form, record in (
        ("JSON, dynamic, by hand", Unstructured, text),
        ("JSON, typed, by hand", Pod, text),
        ("protobuf, typed, by hand", Pod, message),
    ):
        admission = Admission(form, transform=lambda obj: strip_managed_fields(obj))
        seconds = best_of(_on(record, admission.admit), payload)
        print(f"{name:28}{seconds * 1e6:9.2f}")


def _on(record: Record, work: Callable[[Record], object]) -> Work:
    return lambda _: work(record)


def print_imports(rounds: int = 7) -> None:
    """Seconds to import, each in a process of its own, without those of the process itself."""
    print(f"\n{'imports':28}{'ms':>9}{'ms beyond':>13}")
    before = 0.0
    for module in ("kinform", "kinform.models.core.v1"):
        clock = "__import__('time').perf_counter()"
        program = f"began = {clock}; import {module}; print({clock} - began)"
        command = [sys.executable, "-c", program]
        took = min(float(subprocess.check_output(command)) for _ in range(rounds))
        print(f"{module:28}{took * 1e3:9.1f}{(took - before) * 1e3:13.1f}")
        before = took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=9_000, help="bytes of the pod")
    parser.add_argument("--count", type=int, default=2_000, help="objects for the memory table")
    arguments = parser.parse_args()
    payload = realistic_pod_json(0, size=arguments.size)
    print(f"a pod of {len(payload):,} bytes\n")
    print_speed(payload)
    print_memory(payload, arguments.count)
    print_reading(payload)
    print_stripping(payload)
    print_imports()


if __name__ == "__main__":
    main()
