"""Who is asking: headers, rotation, and silence about secrets."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from kinform.errors import ConfigError
from kinform.transport import (
    Anonymous,
    BasicAuth,
    CertificatePair,
    ClientCertificate,
    CombinedCredentials,
    Credentials,
    ExecPlugin,
    Impersonation,
    StaticToken,
    TokenFile,
)

SECRET = "s3cr3t-value"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("first\n")
    return path


class Clock:
    """The loop's time, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead = 0.0
        loop = asyncio.get_running_loop()
        real = loop.time
        monkeypatch.setattr(loop, "time", lambda: real() + self._ahead)

    def advance(self, seconds: float) -> None:
        self._ahead += seconds


async def test_nobody_sends_nothing() -> None:
    nobody = Anonymous()
    assert await nobody.headers() == {}
    assert await nobody.client_certificate() is None
    assert not await nobody.refresh()


async def test_a_token_becomes_a_bearer_header_without_white_space() -> None:
    token = StaticToken(" abc\n")
    assert await token.headers() == {"Authorization": "Bearer abc"}
    assert not await token.refresh()


@pytest.mark.parametrize("token", ["", " \n"])
def test_an_empty_token_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match="the token is empty"):
        StaticToken(token)


@pytest.mark.parametrize("token", ["a\nb", "a\r\nX-Evil: 1", "a b", "a\0b", "é"])
def test_a_token_that_cannot_be_a_header_is_refused_unseen(token: str) -> None:
    with pytest.raises(ConfigError, match="characters that a token cannot have") as caught:
        StaticToken(f"{SECRET}{token}")
    assert SECRET not in str(caught.value)


async def test_basic_authentication_is_utf8_in_base64() -> None:
    headers = await BasicAuth("jörg", "pass:word").headers()
    scheme, _, encoded = headers["Authorization"].partition(" ")
    assert scheme == "Basic"
    assert base64.b64decode(encoded).decode() == "jörg:pass:word"


def test_a_user_name_with_a_colon_is_refused() -> None:
    with pytest.raises(ConfigError, match="must not contain ':'"):
        BasicAuth("a:b", SECRET)


async def test_a_token_file_is_read_again_after_a_minute_and_not_before(
    token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    token = TokenFile(token_file)
    assert await token.headers() == {"Authorization": "Bearer first"}
    token_file.write_text("second\n")
    clock.advance(55)
    assert await token.headers() == {"Authorization": "Bearer first"}
    clock.advance(6)
    assert await token.headers() == {"Authorization": "Bearer second"}


async def test_a_refused_token_file_is_read_again_at_once(token_file: Path) -> None:
    token = TokenFile(token_file)
    await token.headers()
    assert not await token.refresh()
    token_file.write_text("second")
    assert await token.refresh()
    assert await token.headers() == {"Authorization": "Bearer second"}


@pytest.mark.parametrize("damage", ["gone", "empty", "binary"])
async def test_a_token_file_that_breaks_keeps_its_last_token(
    token_file: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    token = TokenFile(token_file)
    await token.headers()
    if damage == "gone":
        token_file.unlink()
    else:
        token_file.write_bytes(b"" if damage == "empty" else b"\xff\xfe\xfd")
    assert not await token.refresh()
    assert await token.headers() == {"Authorization": "Bearer first"}
    assert "the last token stays in use" in caplog.text


async def test_a_token_file_that_was_never_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(ConfigError, match=f"cannot read the token file {path}: No such file"):
        await TokenFile(path).headers()


async def test_an_empty_token_file_is_named(token_file: Path) -> None:
    token_file.write_text("\n")
    with pytest.raises(ConfigError, match=f"the token file {token_file} is empty"):
        await TokenFile(token_file).headers()


async def test_a_token_file_serves_two_loops_with_different_clocks(token_file: Path) -> None:
    token = TokenFile(token_file)
    await token.headers()
    token_file.write_text("second")

    def from_another_thread() -> dict[str, str]:
        async def main() -> dict[str, str]:
            loop = asyncio.get_running_loop()
            loop.time = lambda: 0.0  # type: ignore[method-assign]  # a clock behind ours
            return dict(await token.headers())

        return asyncio.run(main())

    seen = await asyncio.to_thread(from_another_thread)
    assert seen == {"Authorization": "Bearer second"}


async def test_certificate_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    certificate, key = tmp_path / "crt", tmp_path / "key"
    certificate.write_bytes(b"cert 1")
    key.write_bytes(b"key 1")
    credentials = ClientCertificate(certificate, key)
    assert await credentials.client_certificate() == CertificatePair(b"cert 1", b"key 1")
    replacement = tmp_path / "new"
    replacement.write_bytes(b"cert 2")
    replacement.rename(certificate)
    assert await credentials.client_certificate() == CertificatePair(b"cert 2", b"key 1")
    certificate.unlink()
    assert await credentials.client_certificate() == CertificatePair(b"cert 2", b"key 1")


async def test_a_mounted_secret_rotates_by_its_symlink(tmp_path: Path) -> None:
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "crt").write_text(version)
        os.utime(tmp_path / version / "crt", (1, 1))
    link = tmp_path / "current"
    link.symlink_to("1")
    credentials = ClientCertificate(link / "crt", b"key")
    await credentials.client_certificate()
    link.unlink()
    link.symlink_to("2")
    assert await credentials.client_certificate() == CertificatePair(b"2", b"key")


async def test_a_certificate_file_that_was_never_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"client key .*{tmp_path}/key.*No such file"):
        await ClientCertificate(b"cert", tmp_path / "key").client_certificate()


async def test_combined_credentials_take_the_first_of_each(token_file: Path) -> None:
    both = CombinedCredentials(
        ClientCertificate(b"cert", b"key"), TokenFile(token_file), StaticToken("never")
    )
    assert await both.headers() == {"Authorization": "Bearer first"}
    assert await both.client_certificate() == CertificatePair(b"cert", b"key")
    token_file.write_text("second")
    assert await both.refresh()
    assert not await both.refresh()


async def test_combined_nobodies_are_nobody() -> None:
    nobody = CombinedCredentials(Anonymous())
    assert await nobody.headers() == {}
    assert await nobody.client_certificate() is None


async def test_no_repr_or_log_shows_a_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = tmp_path / "token"
    token.write_text(SECRET)
    plugin = tmp_path / "plugin"
    plugin.write_text(
        '#!/bin/sh\necho \'{"kind":"ExecCredential",'
        '"apiVersion":"client.authentication.k8s.io/v1",'
        f'"status":{{"token":"{SECRET}"}}}}\'\n'
    )
    plugin.chmod(0o755)
    everyone: list[Credentials] = [
        Anonymous(),
        StaticToken(SECRET),
        TokenFile(token),
        BasicAuth("admin", SECRET),
        ClientCertificate(SECRET.encode(), SECRET.encode()),
        ExecPlugin(str(plugin), args=[SECRET], env={"PASSWORD": SECRET}),
    ]
    everyone.append(CombinedCredentials(*everyone))
    encoded = base64.b64encode(f"admin:{SECRET}".encode()).decode()
    for credentials in everyone:
        await credentials.headers()
        pair = await credentials.client_certificate()
        await credentials.refresh()
        for shown in (repr(credentials), str(credentials), repr(pair)):
            assert SECRET not in shown
            assert encoded not in shown
    assert SECRET not in caplog.text
    assert encoded not in caplog.text


def test_impersonation_becomes_one_header_per_group_and_value() -> None:
    headers = Impersonation(
        user="jane",
        uid="42",
        groups=["dev", "ops"],
        extra={"acme.com/project%x": ["a", "b"], "Scopes": ["c"]},
    ).headers()
    assert headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "42"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-acme.com%2Fproject%25x", "a"),
        ("Impersonate-Extra-acme.com%2Fproject%25x", "b"),
        ("Impersonate-Extra-Scopes", "c"),
    )


def test_extra_keys_outside_ascii_are_escaped_byte_by_byte() -> None:
    headers = Impersonation(user="jane", extra={"größe": ["x"]}).headers()
    assert headers[1] == ("Impersonate-Extra-gr%C3%B6%C3%9Fe", "x")


def test_impersonation_without_a_user_is_refused() -> None:
    with pytest.raises(ConfigError, match="needs a user"):
        Impersonation(user="", groups=["dev"])


@pytest.mark.parametrize(
    "options",
    [
        {"user": "a\nX-Evil: 1"},
        {"user": "a", "uid": "\r"},
        {"user": "a", "groups": ["g\n"]},
        {"user": "a", "extra": {"k": ["v\0"]}},
    ],
)
def test_impersonation_cannot_smuggle_headers(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="line break or control character"):
        Impersonation(**options)


@pytest.mark.parametrize("options", [{"groups": "dev"}, {"extra": {"k": "v"}}])
def test_one_string_instead_of_a_list_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="must be a list of strings, not one string"):
        Impersonation(user="a", **options)
