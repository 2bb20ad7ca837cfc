"""Writes generated files atomically, without replacing files that were written by hand."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from kinform.errors import ConfigError
from kinform.generate._package import GENERATED, OF_A_GROUP


def write_files(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Write a generated package into ``folder``, which is created if it does not exist.

    Previously generated modules that are not in ``files`` are removed: they belong to kinds or
    versions that no longer exist.

    Returns:
        The paths of the removed files.

    Raises:
        ConfigError: A file would replace one that was not generated, or writing failed. Nothing
            has changed if the error occurred before the first file was moved.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file; choose a folder for the package")
    for path in files:
        _require_ours(folder / path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # In the same folder, so that files are moved by renaming.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".kinform-") as beside:
            for path, text in files.items():
                draft = Path(beside, path)
                draft.parent.mkdir(parents=True, exist_ok=True)
                draft.write_text(text, encoding="utf-8")
            for path in files:
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                Path(beside, path).replace(target)
        return _remove_others(folder, files)
    except OSError as error:
        where = error.filename or folder
        raise ConfigError(f"cannot write {where}: {error.strerror or error}") from error


def _remove_others(folder: Path, files: Collection[str]) -> list[str]:
    removed = []
    # Only folders of generated groups contain this module.
    for mark in sorted(folder.glob(f"*/{OF_A_GROUP}")):
        if not _is_ours(_first_line(mark)):
            continue
        for file in sorted(mark.parent.glob("*.py")):
            path = file.relative_to(folder).as_posix()
            if path not in files and _is_ours(_first_line(file)):
                file.unlink()
                removed.append(path)
        with suppress(OSError):  # not empty
            mark.parent.rmdir()
    return removed


def _require_ours(file: Path) -> None:
    try:
        first = _first_line(file)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"cannot write {file}: {error.strerror or error}") from error
    if first and not _is_ours(first):
        raise ConfigError(
            f"{file} already exists and was not written by `kinform generate`; "
            "move it, or choose another folder"
        )


def _first_line(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as lines:
        return lines.readline()


def _is_ours(first_line: str) -> bool:
    return first_line.rstrip().endswith(f'{GENERATED}"""')
