"""The clients of controllers: each has an identity of its own."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from kinform._checks import expect
from kinform.client import Client, ClusterClient
from kinform.errors import ConfigError
from kinform.transport import Impersonation

ClientBuilder = Callable[[str], ClusterClient]
"""Returns the client of a controller, by the name of the controller."""

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class ControllerClients:
    """Makes a client for each controller, by which the server can tell them apart.

        ControllerManager(client, clients=ControllerClients(client, service_accounts="kube-system"))

    The user agent ends with the name of the controller. The connection settings and credentials
    are those of the given client.

    Args:
        client: The client to take the settings from.
        user_agent: The user agent, in front of the name of the controller.
        service_accounts: The namespace of service accounts with the names of the controllers, to
            be impersonated. Then each controller needs permissions of its own, and the user of the
            client the permission to impersonate them.

    Raises:
        ConfigError: This is not a ``Client``, or the namespace is invalid.
    """

    def __init__(
        self,
        client: Client,
        *,
        user_agent: str = "kinform-controller-manager",
        service_accounts: str | None = None,
    ) -> None:
        expect(client, Client, receiver="ControllerClients", expected="a kinform.Client")
        if service_accounts is not None and not _NAMESPACE.fullmatch(service_accounts):
            raise ConfigError(f"service_accounts must be a namespace, not {service_accounts!r}")
        self._config = client.config
        self._user_agent = user_agent
        self._namespace = service_accounts

    def __call__(self, name: str) -> Client:
        impersonation = self._config.impersonation
        if self._namespace is not None:
            # The server adds the groups of a service account by itself.
            user = f"system:serviceaccount:{self._namespace}:{name}"
            impersonation = Impersonation(user=user)
        return Client(
            replace(
                self._config,
                user_agent=f"{self._user_agent}/{name}",
                impersonation=impersonation,
            )
        )
