"""Watch lines from memory, decoded into the official Python client's models, as its Watch does."""

from __future__ import annotations

from pathlib import Path

# It lives in the peers' own environment.
from kubernetes import watch

from benchmarks.measure import Facts, Parameters, report


def decode_lines(parameters: Parameters) -> Facts:
    stream = Path(parameters["lines"]).read_bytes()
    unmarshal = watch.Watch().unmarshal_event
    objects = 0
    for _ in range(parameters["passes"]):
        for line in stream.splitlines():
            event = unmarshal(line.decode(), "V1Pod")
            objects += bool(event["object"].metadata.name)
    return {"objects": objects}


report(decode_lines)
