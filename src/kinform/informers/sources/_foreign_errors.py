"""Converts exceptions of user code and foreign libraries to kinform errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kinform.errors import KinformError, SourceError, TransportError


@contextmanager
def foreign_errors(what: str) -> Iterator[None]:
    """Convert foreign exceptions to kinform errors.

    An ``OSError`` is a lost connection and is retried soon. Anything else may be a bug or a
    refusal and is retried with a longer backoff.
    """
    try:
        yield
    except KinformError:
        raise
    except Exception as error:
        kind = TransportError if isinstance(error, OSError) else SourceError
        raise kind(f"{what}: {type(error).__name__}: {error}") from error
