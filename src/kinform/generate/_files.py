"""Texts by path in; files on the disk out, all whole, and none that somebody wrote by hand gone."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from kinform.errors import ConfigError
from kinform.generate._package import GENERATED


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write a generated package into ``folder``, which is made if it is not there.

    Raises:
        ConfigError: A file of another origin is in the way, or the disk refuses. If it was seen
            before the first file was in its place, nothing has changed.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file; name a folder for the package")
    for path in files:
        _require_ours(folder / path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # In the folder itself, so that putting files in their places is renaming them.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".kinform-") as beside:
            for path, text in files.items():
                draft = Path(beside, path)
                draft.parent.mkdir(parents=True, exist_ok=True)
                draft.write_text(text, encoding="utf-8")
            for path in files:
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                Path(beside, path).replace(target)
    except OSError as error:
        where = error.filename or folder
        raise ConfigError(f"cannot write {where}: {error.strerror or error}") from error


def _require_ours(file: Path) -> None:
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            first = lines.readline()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"cannot write {file}: {error.strerror or error}") from error
    if first and not first.rstrip().endswith(f'{GENERATED}"""'):
        raise ConfigError(
            f"{file} is in the way, and `kinform generate` did not write it; "
            "move it, or name another folder"
        )
