"""Feed mutated input to compiled code for some seconds, and compare its results with Python's.

    python -m tests.support.fuzz_native --seconds 60

``make sanitize`` runs it with instrumented code. Each round has its own seed, so a failure can be
repeated with ``--seed``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest

from kinform import _native
from kinform.client._json_wire import JSON_WIRE
from kinform.errors import KinformError
from kinform.transport._http_body import MalformedAnswerError, body_decoder, read_head
from tests.property.test_protobuf_fuzz import TARGETS, mutated
from tests.support.answers import event, pod
from tests.support.breaking import broken
from tests.unit.protobuf.test_native_readers import NAMED, by_chance, check_broken
from tests.unit.protobuf.test_structs import OBJECTS, message_of

LINES = b"".join(
    event(kind, pod(name))
    for kind, name in (("ADDED", "a"), ("MODIFIED", "b"), ("DELETED", "c"), ("BOOKMARK", "d"))
)
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def read_messages(chance: Random) -> None:
    """Whole bodies, lists and streams in protobuf, every field of every form."""
    target, seeds = chance.choice(TARGETS)
    target(mutated(chance.choice(seeds), chance))


def read_fields(chance: Random) -> None:
    """Objects of any kind: compiled code and Python must agree on every field and error."""
    kind = chance.choice(OBJECTS)
    payload = by_chance(message_of(kind), chance) + NAMED
    if chance.randrange(4):
        payload = broken(
            payload, chance, place=chance.randrange, insertion=lambda: chance.randbytes(3)
        )
    check_broken(kind, payload, pytest.MonkeyPatch())


def read_lines(chance: Random) -> None:
    """Events in JSON, cut anywhere."""
    stream = mutated(LINES * 2, chance)
    framing = JSON_WIRE.framing(1 << 16)
    cut = chance.randrange(1, 200)
    for start in range(0, len(stream), cut):
        framing.feed(stream[start : start + cut])
    framing.finish("watch")


def read_chunks(chance: Random) -> None:
    """Chunked bodies, cut anywhere, with positions anywhere in a larger buffer."""
    data = b"".join(
        b"%x\r\n%b\r\n" % (len(each), each)
        for each in (chance.randbytes(chance.choice((1, 9, 16, 300))) for _ in range(8))
    )
    data = data if chance.randrange(3) == 0 else mutated(data, chance)
    head, _ = read_head(bytearray(HEAD), len(HEAD))
    assert head is not None
    body, content, buffer = body_decoder(head), b"", bytearray(chance.randbytes(64))
    start = end = chance.randrange(64)
    while data and not body.is_over:
        cut = chance.randrange(1, 90)
        piece, data = data[:cut], data[cut:]
        buffer[end : end + len(piece)] = piece
        end += len(piece)
        taken, start = body.take(buffer, start, end)
        content += taken
        assert len(content) <= start <= end
    size = len(buffer)
    first, last = sorted((chance.randrange(size + 1), chance.randrange(size + 1)))
    left = chance.choice((0, 1, size, 1 << 62))
    taken, at, _, _ = _native.try_unchunk(buffer, first, last, left)
    assert len(taken) <= at - first <= last - first


ROUNDS: tuple[Callable[[Random], None], ...] = (
    *(read_messages, read_fields, read_lines, read_chunks, read_chunks),
)


def run_round(seed: int) -> None:
    chance = Random(seed)
    with suppress(KinformError, MalformedAnswerError):  # malformed input may be refused
        ROUNDS[seed % len(ROUNDS)](chance)


def main() -> int:
    parser = argparse.ArgumentParser(description="fuzz compiled code")
    parser.add_argument("--seconds", type=float, default=60.0)
    # A fixed number, so that a faster machine does not run other rounds than the slower ones.
    parser.add_argument("--rounds", type=int, default=50_000)
    parser.add_argument("--seed", type=int, help="run only this round")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        run_round(arguments.seed)
        return 0
    until = time.monotonic() + arguments.seconds
    seed = 0
    while seed < arguments.rounds and time.monotonic() < until:
        try:
            run_round(seed)
        except BaseException:
            print(f"fuzz_native: round --seed {seed} failed", file=sys.stderr)
            raise
        seed += 1
    print(f"fuzz_native: {seed} rounds, compiled: {_native.IS_COMPILED}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
