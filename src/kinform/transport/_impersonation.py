"""User impersonation through ``Impersonate-*`` headers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_letters, digits

import msgspec

from kinform.errors import ConfigError

# The characters that RFC 9110 allows in a header name, except the escape character '%'.
_PLAIN = frozenset((ascii_letters + digits + "!#$&'*+-.^_`|~").encode())


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    """The user, groups and extra values to impersonate, if the server's RBAC permits it."""

    user: str
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.user:
            raise ConfigError(
                "impersonation needs a user: uid, groups and extra only go along with one"
            )
        if isinstance(self.groups, str):
            raise ConfigError("impersonation groups must be a list of strings, not one string")
        for name, values in self.extra.items():
            if isinstance(values, str):
                raise ConfigError(
                    f"impersonation extra {name!r} must be a list of strings, not one string"
                )
        for name, value in self.headers():
            if not value.isprintable():
                raise ConfigError(f"the value for {name} holds a line break or control character")

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return the headers. Names may repeat: there is one header per group and extra value."""
        found = [("Impersonate-User", self.user)]
        if self.uid:
            found.append(("Impersonate-Uid", self.uid))
        found += [("Impersonate-Group", group) for group in self.groups]
        found += [
            (f"Impersonate-Extra-{_escape(name)}", value)
            for name, values in self.extra.items()
            for value in values
        ]
        return tuple(found)


def _escape(name: str) -> str:
    """Percent-encode characters that a header name cannot contain; the server decodes them."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in name.encode())
