"""18.19: Tools that record the local variables of a traceback find no credentials in them."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kinform.errors import KinformError
from kinform.transport import (
    AiohttpTransport,
    BasicAuth,
    CertificatePair,
    ClusterConfig,
    ExecPlugin,
    Request,
    StaticToken,
)
from kinform.transport._exec_credential import parse_exec_credential
from kinform.transport._kubeconfig_section import Section
from kinform.transport._proxy import parse_proxy
from kinform.transport._redacted import SecretBytes, SecretText
from kinform.transport._tls import TlsContexts

TESTS = Path(__file__).parents[2]
SECRET = "s3cr3t" * 30  # longer than what tools show of a string


def _locals(error: BaseException) -> str:
    """All local variables of all frames but those of tests, as tools show them."""
    shown = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if not frame.f_code.co_filename.startswith(str(TESTS)):
            for name, value in frame.f_locals.items():
                cut = value[:80] if isinstance(value, str | bytes) else value
                shown.append(f"{name}={value!r} {cut!r}")
    return "\n".join(shown)


async def _static_token(tmp_path: Path) -> None:
    StaticToken(f"{SECRET}\n{SECRET}")


async def _basic_auth(tmp_path: Path) -> None:
    BasicAuth("a:b", SECRET)


async def _proxy(tmp_path: Path) -> None:
    parse_proxy(f"socks5://me:{SECRET}@proxy", origin="proxy-url")


async def _exec_environment(tmp_path: Path) -> None:
    await ExecPlugin(str(tmp_path / "missing"), env={"PASSWORD": SECRET}).headers()


async def _exec_output(tmp_path: Path) -> None:
    status = f'"status":{{"token":"{SECRET}","expirationTimestamp":"never"}}'
    head = '"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"'
    script = f"print('{{{head},{status}}}')"
    await ExecPlugin(
        sys.executable, args=["-c", script.replace(SECRET, "'+'s3cr3t'*30+'")]
    ).headers()


EXEC_HEAD = '"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"'
EXEC_OUTPUTS = {
    "no JSON": SECRET,
    "half of it": f'{{{EXEC_HEAD},"status":{{"token":"{SECRET}"',
    "a text": f'"{SECRET}"',
    "an array": f'["{SECRET}"]',
    "an array as token": f'{{{EXEC_HEAD},"status":{{"token":["{SECRET}"]}}}}',
    "a key alone": f'{{{EXEC_HEAD},"status":{{"clientKeyData":"{SECRET}"}}}}',
    "another kind": f'{{"kind":"Secret","token":"{SECRET}"}}',
}


def _printing(output: str) -> Callable[[Path], Awaitable[None]]:
    async def failing(tmp_path: Path) -> None:
        parse_exec_credential(
            SecretBytes(output.encode()),
            api_version="client.authentication.k8s.io/v1",
            plugin="plugin",
        )

    return failing


KUBECONFIGS: dict[str, tuple[Any, Any]] = {  # of a user and a cluster
    "two lines as token": ({"token": f"{SECRET}\n{SECRET}"}, {}),
    "a list as token": ({"token": [SECRET]}, {}),
    "a text as user": (SECRET, {}),
    "a colon in the user name": ({"username": "a:b", "password": SECRET}, {}),
    "token and login": ({"token": SECRET, "username": "a", "password": SECRET}, {}),
    "a key that is not base64": ({"client-key-data": SECRET + "!"}, {}),
    "a key that is not PEM": ({"client-key-data": SECRET}, {}),
    "a login in the address": ({}, {"server": f"https://me:{SECRET}@host"}),
    "a slash in the password": ({}, {"server": f"https://me:{SECRET}/x@host"}),
    "a login of a SOCKS proxy": ({}, {"proxy-url": f"socks5://me:{SECRET}@proxy"}),
    "an unknown mode of a plugin": (
        {
            "exec": {
                "command": "x",
                "apiVersion": "client.authentication.k8s.io/v1",
                "interactiveMode": "Sometimes",
                "args": [SECRET],
                "env": [{"name": "TOKEN", "value": SECRET}],
            }
        },
        {},
    ),
    "a variable without a name": ({"exec": {"command": "x", "env": [{"value": SECRET}]}}, {}),
    "an auth-provider": ({"auth-provider": {"name": "oidc", "config": {"id-token": SECRET}}}, {}),
}


def _loading(user: Any, cluster: Any) -> Callable[[Path], Awaitable[None]]:
    async def failing(tmp_path: Path) -> None:
        content = {
            "clusters": [{"name": "c", "cluster": {"server": "https://host", **cluster}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        file = tmp_path / "config"
        file.write_text(yaml.safe_dump(content), "utf-8")
        ClusterConfig.from_kubeconfig(file)

    return failing


async def _malformed_kubeconfig(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(f"users: [{{user: {{token: {SECRET}}}, [", "utf-8")
    ClusterConfig.from_kubeconfig(file)


async def _request(tmp_path: Path) -> None:
    config = ClusterConfig(server="http://127.0.0.1:1", credentials=StaticToken(SECRET))
    transport = AiohttpTransport(config)
    try:
        await transport.send(Request("POST", "/api", body=b"{}"))
    finally:
        await transport.close()


async def _stream(tmp_path: Path) -> None:
    config = ClusterConfig(server="http://127.0.0.1:1", credentials=StaticToken(SECRET))
    await AiohttpTransport(config).send(Request("GET", "/api", is_stream=True))


async def _key(tmp_path: Path) -> None:
    contexts = TlsContexts(certificate_authority=None, insecure_skip_tls_verify=False, name="x")
    contexts.current(CertificatePair(b"no certificate", SECRET.encode()))


@pytest.mark.parametrize(
    "failing",
    [
        _static_token,
        _basic_auth,
        _proxy,
        _exec_environment,
        _exec_output,
        _request,
        _stream,
        _key,
        _malformed_kubeconfig,
        *(
            pytest.param(_printing(output), id=f"exec: {name}")
            for name, output in EXEC_OUTPUTS.items()
        ),
        *(
            pytest.param(_loading(*each), id=f"kubeconfig: {name}")
            for name, each in KUBECONFIGS.items()
        ),
    ],
)
async def test_no_frame_shows_a_credential(
    failing: Callable[[Path], Awaitable[None]], tmp_path: Path
) -> None:
    """18.19: The strings and structs in them redact themselves."""
    with pytest.raises(KinformError) as raised:
        await failing(tmp_path)

    assert _locals(raised.value), "no frame of the package was looked at"
    error: BaseException | None = raised.value
    while error is not None:
        assert "s3cr3ts3cr3t" not in f"{_locals(error)} {error!r}"
        error = error.__cause__ or error.__context__


def test_secrets_behave_like_strings_and_bytes() -> None:
    """18.19: Only their repr differs."""
    assert SecretText("abc") == "abc"
    assert f"Bearer {SecretText('abc')}" == "Bearer abc"
    assert repr([SecretText("abc"), SecretText("abc")[:2]]) == "['***', '***']"
    assert SecretBytes(b"abc") == b"abc"
    assert SecretBytes(b"abc")[0] == 97
    assert repr([SecretBytes(b"abc"), SecretBytes(b"abc")[:2]]) == "[b'***', b'***']"


def test_a_section_of_a_kubeconfig_shows_no_content() -> None:
    """18.19: The user's section has the token."""
    section = Section(Path("config"), "users[0]", {"token": SECRET})
    assert SECRET not in f"{section!r} {section.__rich_repr__()}"
