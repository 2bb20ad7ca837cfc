"""Refused credentials: the error names the request and the kind of credentials, never a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from kinform import Client, ClusterConfig, blocking
from kinform.api import GVR
from kinform.errors import UnauthorizedError
from kinform.testing import ApiServer, BlockingApiServer, faults
from kinform.transport import (
    Anonymous,
    BasicAuth,
    ClientCertificate,
    CombinedCredentials,
    Credentials,
    StaticToken,
    TokenFile,
)
from kinform.transport._official_credentials import OfficialCredentials
from tests.support.answers import text_answer
from tests.support.memory_transport import MemoryTransport

PODS = GVR("", "v1", "pods")
SECRET = "s3cret"


def _credentials(kind: str, folder: Path) -> tuple[Credentials, str]:
    """Return credentials that the server does not know, and their description."""
    file = folder / "token"
    file.write_text(SECRET, "utf-8")
    token = "a bearer token from user 'jane'"
    found: dict[str, tuple[Credentials, str]] = {
        "none": (Anonymous(), "no credentials"),
        "token": (StaticToken(SECRET), "a bearer token"),
        "named token": (StaticToken(SECRET, origin="user 'jane'"), token),
        "token file": (TokenFile(file), f"a bearer token from the file {file}"),
        "basic": (
            BasicAuth("jane", SECRET),
            "the password of user 'jane' (basic authentication)",
        ),
        "both": (
            CombinedCredentials(TokenFile(file), BasicAuth("jane", SECRET)),
            f"a bearer token from the file {file} and "
            "the password of user 'jane' (basic authentication)",
        ),
    }
    return found[kind]


@pytest.mark.parametrize("kind", ["none", "token", "named token", "token file", "basic", "both"])
async def test_a_401_names_the_request_and_the_credentials(kind: str, tmp_path: Path) -> None:
    """18.11: the server says "Unauthorized" whatever was wrong."""
    credentials, description = _credentials(kind, tmp_path)
    async with (
        ApiServer(tokens={"known": "jane"}) as server,
        Client(replace(server.config, credentials=credentials)) as client,
    ):
        server.faults.inject(faults.unauthorized(), times=None)  # otherwise anonymous is a user
        with pytest.raises(UnauthorizedError) as caught:
            await client.list(PODS, namespace="default")
        with pytest.raises(UnauthorizedError) as caught_watch:
            async with client.watch(PODS, namespace="default"):
                pass
    for error in (caught.value, caught_watch.value):
        assert str(error).startswith(
            "GET /api/v1/namespaces/default/pods with " + description + ":"
        )
        assert "Unauthorized" in str(error)
        assert SECRET not in repr(error) + str(error)
    assert (caught.value.code, caught.value.message) == (401, "Unauthorized")


async def test_the_error_names_an_exec_plugin(tmp_path: Path) -> None:
    """18.11: and what the plugin returned."""
    plugin = tmp_path / "plugin"
    plugin.write_text(
        "#!/bin/sh\n"
        """echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", """
        f""""status": {{"token": "{SECRET}"}}}}'\n""",
        "utf-8",
    )
    plugin.chmod(0o700)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}}
    error = await _refusal_of_user(user, tmp_path)
    assert f"with a bearer token of the exec plugin '{plugin}': " in str(error)
    assert SECRET not in str(error)


async def test_the_error_names_the_kubeconfig(tmp_path: Path) -> None:
    """18.11: with its user."""
    error = await _refusal_of_user({"token": SECRET}, tmp_path)
    assert f"with a bearer token from user 'jane' in {tmp_path / 'config'}: " in str(error)
    assert SECRET not in str(error)


async def _refusal_of_user(user: dict[str, Any], folder: Path) -> UnauthorizedError:
    import yaml

    async with ApiServer(tokens={"known": "jane"}) as server:
        content = {
            "clusters": [{"name": "c", "cluster": {"server": server.url}}],
            "users": [{"name": "jane", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "jane"}}],
            "current-context": "x",
        }
        file = folder / "config"
        file.write_text(yaml.safe_dump(content), "utf-8")
        async with Client(ClusterConfig.from_kubeconfig(file)) as client:
            with pytest.raises(UnauthorizedError) as caught:
                await client.list(PODS)
    return caught.value


async def test_a_401_without_a_status_names_them_too() -> None:
    """18.11: proxies answer with text."""
    transport = MemoryTransport()
    transport.on("/version", text_answer("log in first", 401))
    async with Client(ClusterConfig(server="http://localhost"), transport=transport) as client:
        with pytest.raises(UnauthorizedError) as caught:
            await client.server_version()
    message = "GET /version with the credentials of a test: log in first"
    assert caught.value.message == message


def test_the_blocking_client_says_the_same() -> None:
    with (
        BlockingApiServer(tokens={"known": "jane"}) as server,
        blocking.Client(replace(server.config, credentials=StaticToken(SECRET))) as client,
        pytest.raises(UnauthorizedError, match=r"^GET /api/v1/pods with a bearer token: "),
    ):
        client.list(PODS)


async def test_other_credentials_describe_their_kind_and_origin(tmp_path: Path) -> None:
    """18.11: certificates by their file, the official client's by what it configures."""

    class Configuration:
        """As in the official client."""

        cert_file: str | None = None
        refresh_api_key_hook = None
        api_key: ClassVar = {"authorization": f"Bearer {SECRET}"}

        def auth_settings(self) -> dict[str, dict[str, str]]:
            value = self.api_key["authorization"]
            header = {"in": "header", "key": "authorization", "value": value}
            return {"BearerToken": {"type": "api_key", **header}}

    certificate = ClientCertificate(tmp_path / "tls.crt", tmp_path / "tls.key")
    assert certificate.describe() == f"a client certificate ({tmp_path / 'tls.crt'})"
    inline = ClientCertificate(SECRET.encode(), SECRET.encode())
    assert inline.describe() == "a client certificate (inline)"

    configuration = Configuration()
    official = OfficialCredentials(configuration)
    await official.headers()
    origin = "of the official client's configuration"
    assert official.describe() == f"an Authorization header {origin}"
    configuration.cert_file = "/tls.crt"
    assert official.describe().endswith(f"and the client certificate /tls.crt {origin}")
