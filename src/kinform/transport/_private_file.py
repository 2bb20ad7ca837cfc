"""Temporary files that other users cannot open, in memory where the system supports it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast


def scratch_file() -> BinaryIO:
    """Open an unnamed file that is deleted on close, for output that may contain secrets."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("kinform", os.MFD_CLOEXEC), "w+b")
    import tempfile

    return cast(BinaryIO, tempfile.TemporaryFile())  # the caller closes it


@contextmanager
def readable_path(data: bytes) -> Iterator[str]:
    """Provide ``data`` as a file that only this process can read, within the ``with`` block."""
    if hasattr(os, "memfd_create"):
        with scratch_file() as file:
            path = f"/proc/self/fd/{file.fileno()}"
            if os.path.exists(path):
                file.write(data)
                file.flush()
                yield path
                return
    import tempfile

    with tempfile.NamedTemporaryFile() as named:  # created with mode 0600
        named.write(data)
        named.flush()
        yield named.name
