"""Runs the Go program in ``reflect/``, which describes Go's types of the Kubernetes API."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tools.go_programs import REFLECT


def reflect() -> Any:
    """Return ``packages``, ``kinds``, ``types`` and ``structs`` as in `tools.schema.table`.

    Raises:
        NotBuiltError: The program has not been built yet.
    """
    return json.loads(subprocess.run([REFLECT.built()], stdout=subprocess.PIPE, check=True).stdout)
