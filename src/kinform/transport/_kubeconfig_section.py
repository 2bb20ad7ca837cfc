"""Sections of kubeconfig files, whose errors name the file and the field."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from kinform.errors import ConfigError
from kinform.transport._redacted import Redacted, SecretBytes, SecretText

if TYPE_CHECKING:
    import yaml


# Fields that are or may contain credentials: addresses may have a login.
_SECRETS = frozenset(
    {
        "token",
        "password",
        "client-certificate-data",
        "client-key-data",
        "server",
        "proxy-url",
        "args",
        "value",
    }
)


class PlainNumber(Redacted, frozen=True):
    """An unquoted number, read as text where a string is expected (``password: 0123``)."""

    text: str
    value: int | float


class Section(Redacted, frozen=True):
    """A mapping of a kubeconfig. As in kubectl, absent, ``null`` and empty are the same.

    All texts in ``content`` redact themselves; the methods return plain ones, except for secrets.
    """

    shown: ClassVar = ("file", "where")

    file: Path
    where: str
    content: Mapping[Any, Any]

    def text(self, field: str) -> str:
        """Return a string, or ``""``."""
        return self._as_text(field, self.content.get(field))

    def flag(self, field: str) -> bool:
        value = self.content.get(field)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.wrong(field, "true or false", value)

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of strings."""
        value = self.content.get(field)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.wrong(field, "a list of strings", value)
        return tuple(
            self._as_text(field, item, f"{field}[{index}]") for index, item in enumerate(value)
        )

    def data(self, field: str) -> bytes | None:
        """Return PEM data that is stored as base64.

        Raises:
            ConfigError: The value is not base64, or not PEM.
        """
        text = self.text(field)
        if not text:
            return None
        decoded, problem = _from_base64(text)
        if problem:
            raise self.error(f"{field} is not base64: {problem}")
        if b"-----BEGIN" not in decoded:
            raise self.error(f"{field} is base64, but what it holds is not PEM")
        return decoded

    def path(self, field: str) -> Path | None:
        """Return the path of an existing file; relative paths start at the kubeconfig's folder."""
        text = self.text(field)
        if not text:
            return None
        path = self.file.parent / text
        if not path.is_file():
            raise self.error(f"{field} names {path}, which is not a file")
        return path

    def section(self, field: str) -> Section | None:
        value = self.content.get(field)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(field, "a mapping", value)
        return Section(self.file, f"{self._prefix}{field}", value)

    def sections(self, field: str) -> tuple[Section, ...]:
        """Return a list of mappings."""
        value = self.content.get(field)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.wrong(field, "a list", value)
        for index, item in enumerate(value):
            if not isinstance(item, dict):
                raise self.wrong(f"{field}[{index}]", "a mapping", item)
        return tuple(
            Section(self.file, f"{self._prefix}{field}[{index}]", item)
            for index, item in enumerate(value)
        )

    def error(self, complaint: str) -> ConfigError:
        place = f"{self.file}: {self.where}: " if self.where else f"{self.file}: "
        return ConfigError(place + complaint)

    def wrong(self, field: str, expected: str, value: object) -> ConfigError:
        return self.error(f"{field} must be {expected}, not {_kind(value)}")

    def _as_text(self, field: str, value: object, place: str = "") -> str:
        text = value.text if isinstance(value, PlainNumber) else value
        if text is None:
            return ""
        if isinstance(text, str):
            return SecretText(text) if field in _SECRETS else str(text)
        raise self.wrong(place or field, "a string", value)

    @property
    def _prefix(self) -> str:
        return f"{self.where}: " if self.where else ""


def load_section(file: Path) -> Section | None:
    """Return the top level of a kubeconfig; ``None`` if the file does not exist.

    Raises:
        ConfigError: The file cannot be read, is not YAML, or is not a kubeconfig.
    """
    try:
        raw = SecretBytes(file.read_bytes())
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise ConfigError(f"{file} is a folder, not a kubeconfig file") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"cannot read the kubeconfig {file}: {reason}") from error
    content = _parse(raw, file)
    if content is None:
        return Section(file, "", {})
    if not isinstance(content, dict):
        raise ConfigError(f"{file} is not a kubeconfig: it holds {_kind(content)}, not a mapping")
    section = Section(file, "", content)
    kind = section.text("kind")
    if kind not in ("", "Config"):
        raise ConfigError(f"{file} is not a kubeconfig: its kind is {kind!r}, not 'Config'")
    return section


def plain_value(section: Section, field: str) -> Any:
    """Return the value of a field as JSON data, for fields that are passed on unchanged."""
    return _plain(section.content.get(field), section, field, ())


def _plain(value: Any, section: Section, field: str, above: tuple[int, ...]) -> Any:
    if isinstance(value, PlainNumber):
        return value.value
    if isinstance(value, str):
        return str(value)
    if not isinstance(value, dict | list):
        return value
    if id(value) in above:
        raise section.error(f"{field} contains itself (a YAML alias inside its own anchor)")
    above = (*above, id(value))
    if isinstance(value, list):
        return [_plain(item, section, field, above) for item in value]
    return {key_text(key): _plain(item, section, field, above) for key, item in value.items()}


def key_text(key: object) -> str:
    """Return the key of a mapping as text, even if it looks like a number."""
    return key.text if isinstance(key, PlainNumber) else str(key)


def _parse(raw: bytes, file: Path) -> Any:
    import io

    import yaml

    try:
        # As a stream: parsing a string would quote the line in errors, and it may contain a secret.
        return yaml.load(io.BytesIO(raw), _loader())
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

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc, valid-type]  # chosen at run time
        # Times stay text: a kubeconfig contains none, and JSON cannot represent them.
        yaml_implicit_resolvers = {  # noqa: RUF012  # a class attribute of PyYAML's
            first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
            for first, pairs in base.yaml_implicit_resolvers.items()
        }

    def text(loader: Any, node: Any) -> SecretText:
        return SecretText(loader.construct_yaml_str(node))

    def integer(loader: Any, node: Any) -> PlainNumber:
        return PlainNumber(node.value, loader.construct_yaml_int(node))

    def number(loader: Any, node: Any) -> PlainNumber:
        return PlainNumber(node.value, loader.construct_yaml_float(node))

    Loader.add_constructor("tag:yaml.org,2002:str", text)
    Loader.add_constructor("tag:yaml.org,2002:int", integer)
    Loader.add_constructor("tag:yaml.org,2002:float", number)
    return Loader


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, PlainNumber):
        return "a number"
    names = {SecretText: "a string", list: "a list", dict: "a mapping", type(None): "nothing"}
    return names.get(type(value), "something else")


def _from_base64(text: str) -> tuple[bytes, str]:
    """Return the content, or the problem: an exception would refer to frames with the text."""
    try:
        return SecretBytes(base64.b64decode("".join(text.split()), validate=True)), ""
    except ValueError as error:
        return b"", str(error)


def default_paths(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files of ``KUBECONFIG`` without duplicates, or ``~/.kube/config``."""
    listed = [part for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        return tuple(dict.fromkeys(Path(part) for part in listed))
    return (Path.home() / ".kube" / "config",)
