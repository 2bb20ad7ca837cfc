"""Our Go program in ``fill/`` in; objects of every kind out, filled at random, in both forms.

It is built once, into the cache folder, with the Kubernetes that the servers of the tests have.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tools.cluster_binaries import KUBERNETES, cache_root

_SOURCES = Path(__file__).parent / "fill"
# Staging modules are published as v0.<minor>.<patch>.
_STAGING = "v0." + KUBERNETES.split(".", 1)[1]


class Filled(msgspec.Struct, rename="camel"):
    """One object.

    Attributes:
        json: As Go writes it.
        protobuf: The same, in its envelope.
        again: What Go reads from the protobuf, as JSON: all that protobuf can say of it.
    """

    api_version: str
    kind: str
    json: msgspec.Raw
    protobuf: bytes
    again: msgspec.Raw

    @property
    def trees(self) -> tuple[Any, Any]:
        return msgspec.json.decode(self.json), msgspec.json.decode(self.again)


def filled_objects(*seeds: int) -> Iterator[Filled]:
    """The same ones for the same seeds."""
    output = _run([str(_program()), *map(str, seeds)])
    decoder = msgspec.json.Decoder(Filled)
    return (decoder.decode(line) for line in output.splitlines())


def _program() -> Path:
    modules = re.findall(
        r"^\s+k8s\.io/\S+ (v0\.\d+\.\d+)$", (_SOURCES / "go.mod").read_text(), re.M
    )
    assert set(modules) == {_STAGING}, f"fill/go.mod is not of Kubernetes {KUBERNETES}"
    content = hashlib.sha256()
    for file in sorted(each for each in _SOURCES.iterdir() if each.is_file()):
        content.update(file.read_bytes())
    program = cache_root() / "fill" / f"fill-{content.hexdigest()[:12]}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        # Under another name until it is whole.
        fresh = program.with_suffix(f".{os.getpid()}")
        _run(["go", "build", "-mod=readonly", "-buildvcs=false", "-o", str(fresh), "."])
        fresh.rename(program)
    return program


def _run(command: list[str]) -> bytes:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run(command, cwd=_SOURCES, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return done.stdout
