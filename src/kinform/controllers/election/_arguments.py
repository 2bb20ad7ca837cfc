"""Checks of the arguments of an elector."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kinform._checks import expect, expect_client, is_async_callable
from kinform.api import LabelSelector
from kinform.cache import CachedClient
from kinform.client import Reader, Writer
from kinform.controllers.election._lease_lock import LeaseClient
from kinform.errors import ConfigError, InvalidNameError, SelectorError

# The names that the server accepts for a Lease.
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_LONGEST = 253


def checked_client(client: LeaseClient) -> LeaseClient:
    """Return a client that reads from the server.

    Raises:
        ConfigError: It is not a client, or a blocking one.
    """
    if isinstance(client, CachedClient):
        return client.live
    expect_client(client, Reader, receiver="LeaderElector")
    expect_client(client, Writer, receiver="LeaderElector")
    if not is_async_callable(client.get):
        raise ConfigError(
            "LeaderElector takes an async client; for a blocking one, use "
            "kinform.blocking.LeaderElector"
        )
    return client


def checked_namespace(client: LeaseClient, name: str, namespace: str | None) -> str:
    """Return the namespace of the Lease.

    Raises:
        InvalidNameError: The name or the namespace is invalid.
        ConfigError: There is no namespace.
    """
    found = getattr(client, "namespace", None) if namespace is None else namespace
    if not isinstance(found, str) or not found:
        raise ConfigError(
            f"the election {name!r} needs a namespace, not {found!r}; pass namespace="
        )
    parts: tuple[tuple[object, str], ...] = ((name, "name"), (found, "namespace"))
    for part, what in parts:
        if not isinstance(part, str) or len(part) > _LONGEST or not _NAME.fullmatch(part):
            raise InvalidNameError(
                f"the {what} of an election must have lower-case letters, digits, '-' or '.', "
                f"not {part!r}"
            )
    return found


def check_identity(identity: str) -> None:
    """Check the identity of a candidate.

    Raises:
        ConfigError: It is empty or not a string.
    """
    expect(identity, str, receiver="identity=", expected="a string")
    if not identity.strip():
        raise ConfigError("identity must not be empty: a lease without a holder is free")


def check_labels(labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return the labels of the Lease.

    Raises:
        ConfigError: They are not valid labels.
    """
    if labels is None:
        return {}
    expect(labels, Mapping, receiver="labels=", expected="a dict of strings")
    try:
        LabelSelector.from_labels(labels)
        expect_strings = all(isinstance(value, str) for value in labels.values())
    except SelectorError as error:
        raise ConfigError(f"labels={dict(labels)!r} of an election: {error}") from error
    if not expect_strings:
        raise ConfigError(f"labels={dict(labels)!r} of an election: all values must be strings")
    return dict(labels)
