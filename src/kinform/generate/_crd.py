"""Reads kinds from CustomResourceDefinitions, in files or already decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinform.api import GVR
from kinform.errors import ConfigError, InvalidNameError

if TYPE_CHECKING:
    import yaml

Json = Mapping[str, Any]
Warn = Callable[[str], None]
"""Receives warnings, each on one line."""

_DEFINITION = "CustomResourceDefinition"
_API_VERSION = "apiextensions.k8s.io/v1"
_ENDINGS = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True)
class CustomKind:
    """One kind in one version.

    Attributes:
        gvr: The resource.
        kind: The name of the kind.
        namespaced: Whether the objects belong to namespaces.
        schema: The OpenAPI v3 schema; empty if unknown.
        components: The targets of references in the schema, by name; a CRD has none.
        can_watch: Whether an informer can watch it.
    """

    gvr: GVR
    kind: str
    namespaced: bool
    schema: Json
    components: Json = field(default_factory=dict, repr=False)
    can_watch: bool = True

    def __str__(self) -> str:
        return f"{self.gvr.api_version} {self.kind}"


def read_files(paths: Iterable[Path], warn: Warn) -> list[CustomKind]:
    """Return the kinds of all definitions in these files and folders.

    Other objects are skipped, because release manifests contain both.

    Raises:
        ConfigError: A file cannot be read, is not YAML, or has no definition or an invalid one.
    """
    kinds: dict[tuple[GVR, str], Path] = {}
    found: list[CustomKind] = []
    for path in paths:
        for file, definition in _definitions_at(path):
            for kind in kinds_of(definition, str(file), warn):
                where = kinds.setdefault((kind.gvr, kind.kind), file)
                if where != file or kind in found:
                    raise ConfigError(
                        f"{kind} is defined twice, in {where} and in {file}; remove one"
                    )
                found.append(kind)
    return found


def kinds_of(definition: Json, where: str, warn: Warn) -> Iterator[CustomKind]:
    """Return the kinds of one definition: one for each served version.

    Raises:
        ConfigError: The definition lacks a required field, or has an obsolete format.
    """
    version = definition.get("apiVersion")
    name = _text(definition, "metadata", "name", where=where)
    where = f"{where}: {_DEFINITION} {name}"
    if version != _API_VERSION:
        raise ConfigError(f"{where} has apiVersion {version!r}; convert it to {_API_VERSION} first")
    group = _text(definition, "spec", "group", where=where)
    plural = _text(definition, "spec", "names", "plural", where=where)
    kind = _text(definition, "spec", "names", "kind", where=where)
    namespaced = _text(definition, "spec", "scope", where=where) == "Namespaced"
    versions = _at(definition, "spec", "versions")
    if not isinstance(versions, list) or not versions:
        raise ConfigError(f"{where}: spec.versions is missing or empty")
    for entry in versions:
        if not isinstance(entry, Mapping):
            raise ConfigError(f"{where}: an entry of spec.versions is not a mapping")
        try:
            gvr = GVR(group, _text(entry, "name", where=f"{where}: spec.versions"), plural)
        except InvalidNameError as error:
            raise ConfigError(f"{where}: {error}") from error
        schema = _at(entry, "schema", "openAPIV3Schema")
        found = CustomKind(gvr, kind, namespaced, schema if isinstance(schema, Mapping) else {})
        if entry.get("served") is False:
            warn(f"{found}: this version is not served; left out")
        else:
            yield found


# -- files -----------------------------------------------------------------------------------


def _definitions_at(path: Path) -> Iterator[tuple[Path, Json]]:
    files = _files_at(path)
    others: set[str] = set()
    count = 0
    for file in files:
        for document in _documents(file):
            if document.get("kind") == _DEFINITION:
                count += 1
                yield file, document
            else:
                others.add(str(document.get("kind") or "something without a kind"))
    if not count:
        found = f"; it contains {', '.join(sorted(others))}" if others else ""
        raise ConfigError(f"{path} contains no {_DEFINITION}{found}")


def _files_at(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(each for each in path.rglob("*") if each.suffix in _ENDINGS and each.is_file())
    if not files:
        raise ConfigError(f"{path} has no files that end in .yaml, .yml or .json")
    return files


def _documents(file: Path) -> Iterator[Json]:
    """Return the objects in one file, including the items of a ``List``."""
    for document in _parse(file):
        if document is None:
            continue
        if not isinstance(document, Mapping):
            raise ConfigError(f"{file}: a document is not a mapping, so it is not an object")
        items = document.get("items")
        if str(document.get("kind", "")).endswith("List") and isinstance(items, list):
            yield from (item for item in items if isinstance(item, Mapping))
        else:
            yield document


def _parse(file: Path) -> list[Any]:
    import yaml

    try:
        return list(yaml.load_all(file.read_bytes(), _loader()))
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror or error}") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" line {mark.line + 1}, column {mark.column + 1}:" if mark else ""
        raise ConfigError(f"{file}:{line} not valid YAML: {error.problem or 'broken'}") from error
    except yaml.reader.ReaderError as error:
        raise ConfigError(f"{file}: not a text file: {error.reason}") from error
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"{file}: not valid YAML ({type(error).__name__})") from error


def _loader() -> type[yaml.SafeLoader]:
    import yaml

    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return loader


# -- trees -----------------------------------------------------------------------------------


def _at(tree: object, *path: str) -> object:
    for step in path:
        tree = tree.get(step) if isinstance(tree, Mapping) else None
    return tree


def _text(tree: Json, *path: str, where: str) -> str:
    value = _at(tree, *path)
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{where}: {'.'.join(path)} is missing or not text")
    return value
