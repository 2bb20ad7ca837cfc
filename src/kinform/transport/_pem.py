"""PEM data from files or bytes; a file is read again when it changes on disk."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TypeAlias

import msgspec

from kinform.errors import ConfigError
from kinform.transport._redacted import Redacted, SecretBytes

logger = logging.getLogger("kinform.transport")

PemSource: TypeAlias = str | os.PathLike[str] | bytes
"""The source of PEM data: a path, or the data itself as ``bytes``."""


class CertificatePair(Redacted, frozen=True):
    """A client certificate (with its chain) and its private key, as PEM. The repr shows neither."""

    certificate: bytes
    key: bytes

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "key", SecretBytes(self.key))


class PemReader:
    """Reads a PEM source. An unchanged file costs one ``stat``."""

    def __init__(self, source: PemSource, *, what: str) -> None:
        self._path = None if isinstance(source, bytes) else Path(source)
        self._content = source if isinstance(source, bytes) else None
        self._stamp: tuple[int, int, int] | None = None
        self.label = f"{what} ({self._path or 'inline'})"

    def read(self) -> bytes:
        """Return the current content. If a file becomes unreadable, its last content is kept.

        Raises:
            ConfigError: The file cannot be read and was never read before.
        """
        if self._path is None:
            assert self._content is not None
            return self._content
        try:
            # A mounted Secret rotates by replacing a symlink, which changes the inode.
            status = os.stat(self._path)
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._content is None or stamp != self._stamp:
                content = self._path.read_bytes()
                if self._content is not None and content != self._content:
                    logger.info("%s changed on disk", self.label)
                self._content, self._stamp = content, stamp
        except OSError as error:
            if self._content is None:
                raise ConfigError(
                    f"cannot read {self.label}: {error.strerror or error}; "
                    "check the path and the permissions"
                ) from error
            logger.debug("%s cannot be read now, the last content stays in use", self.label)
        return self._content

    def __repr__(self) -> str:
        return f"<PemReader {self.label}>"
