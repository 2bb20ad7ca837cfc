"""A client with the configuration of an official one: where it goes, and as whom."""

from __future__ import annotations

import asyncio
import base64
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import trustme

from kinform import blocking
from kinform.client import Client
from kinform.errors import ConfigError, UnauthorizedError
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer
from kinform.transport import ClusterConfig
from tests.support.wire import WireServer, always, answer, server_context

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}
HOST = "https://cluster.test:6443"


@pytest.fixture(scope="module")
def official() -> Any:
    # By name: it is large, and mypy need not read all of it.
    return import_module("kubernetes.client")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with ApiServer(tls=True, tokens={"t0ken": "jane"}) as api:
        yield api


@pytest.fixture
def configure(official: Any) -> Callable[..., Any]:
    """A configuration with these settings."""

    def made(**settings: Any) -> Any:
        configuration = official.Configuration()
        for name, value in {"host": HOST, **settings}.items():
            setattr(configuration, name, value)
        return configuration

    return made


@pytest.fixture
def loaded(api: ApiServer, official: Any, tmp_path: Path) -> Iterator[Any]:
    """An official client that read the server's kubeconfig."""
    path = api.kubeconfig(tmp_path / "kubeconfig")
    with import_module("kubernetes.config").new_client_from_config(str(path)) as client:
        yield client
        client.rest_client.pool_manager.clear()  # not all versions close their connections


def taken(source: object) -> ClusterConfig:
    return Client.from_official(source).config


# -- against a server ------------------------------------------------------------------------


async def test_both_clients_work_side_by_side_over_tls_as_the_same_user(
    api: ApiServer, loaded: Any, official: Any
) -> None:
    async with Client.from_official(loaded) as client:
        await client.create(ConfigMap.from_dict(MAP))
        read = await asyncio.to_thread(
            official.CoreV1Api(loaded).read_namespaced_config_map, "one", "default"
        )
        read.data["a"] = "2"
        updated = await client.update(ConfigMap.from_official(read))

    assert updated.data == {"a": "2"}
    assert {request.user for request in api.requests} == {"jane"}


async def test_a_blocking_client_takes_it_too(api: ApiServer, loaded: Any) -> None:
    def work() -> str:
        with blocking.Client.from_official(loaded, timeout=10.0) as client:
            return client.create(ConfigMap.from_dict(MAP)).name

    assert await asyncio.to_thread(work) == "one"


async def test_apis_and_configurations_are_as_good_as_clients(loaded: Any, official: Any) -> None:
    for source in (loaded, loaded.configuration, official.CoreV1Api(loaded)):
        async with Client.from_official(source) as client:
            await client.server_version()


async def test_a_token_that_the_hook_renews_stays_good(
    api: ApiServer, configure: Callable[..., Any]
) -> None:
    tokens = iter(["first", "second"])

    def renew(configuration: Any) -> None:
        assert threading.current_thread() is not threading.main_thread()
        if expired.is_set():
            expired.clear()
            configuration.api_key["authorization"] = f"bearer {next(tokens)}\n"

    expired = threading.Event()
    expired.set()
    configuration = configure(
        host=api.url,
        ssl_ca_cert=str(api.ca_file),
        api_key={"authorization": "bearer stale"},
        refresh_api_key_hook=renew,
    )
    api.replace_tokens({"first": "jane"})
    async with Client.from_official(configuration) as client:
        await client.server_version()
        api.replace_tokens({"second": "joe"})
        with pytest.raises(UnauthorizedError):
            await client.server_version()
        expired.set()
        await client.server_version()

    assert api.requests[-1].user == "joe"


async def test_a_hook_that_takes_long_runs_once_for_all_who_wait(
    configure: Callable[..., Any],
) -> None:
    runs = 0
    everybody_waits = threading.Event()

    def renew(_: Any) -> None:
        nonlocal runs
        runs += 1
        assert everybody_waits.wait(30)

    configuration = configure(api_key={"authorization": "t0ken"}, refresh_api_key_hook=renew)
    credentials = taken(configuration).credentials
    asking = [asyncio.ensure_future(credentials.headers()) for _ in range(5)]
    await asyncio.sleep(0)
    everybody_waits.set()

    assert await asyncio.gather(*asking) == [{"Authorization": "t0ken"}] * 5
    assert runs == 1


async def test_what_a_hook_raises_is_the_cause_and_not_in_the_text(
    configure: Callable[..., Any],
) -> None:
    def renew(_: Any) -> None:
        raise LookupError("hunter2")

    configuration = configure(api_key={"authorization": "t0ken"}, refresh_api_key_hook=renew)

    with pytest.raises(ConfigError, match=r"refresh_api_key_hook .* LookupError") as caught:
        await taken(configuration).credentials.headers()

    assert "hunter2" not in str(caught.value)
    assert isinstance(caught.value.__cause__, LookupError)


async def test_the_asyncio_flavour_and_its_coroutine_hook_are_taken(api: ApiServer) -> None:
    flavour: Any
    try:
        flavour = import_module("kubernetes.aio.client")
    except ImportError:
        flavour = pytest.importorskip("kubernetes_asyncio.client")

    async def renew(configuration: Any) -> None:
        await asyncio.sleep(0)
        configuration.api_key["BearerToken"] = "Bearer t0ken"

    configuration = flavour.Configuration()
    configuration.host = api.url
    configuration.ssl_ca_cert = str(api.ca_file)
    configuration.api_key["BearerToken"] = "Bearer stale"
    configuration.refresh_api_key_hook = renew
    async with Client.from_official(configuration) as client:
        await client.server_version()

    assert api.requests[-1].user == "jane"


async def test_client_certificates_are_shown_and_may_be_exchanged(
    configure: Callable[..., Any], tmp_path: Path
) -> None:
    authority = trustme.CA()
    context = server_context(authority, client_authority=authority)
    shown: list[Any] = []

    async def note(request: Any, writer: asyncio.StreamWriter) -> None:
        shown.append(writer.get_extra_info("peercert")["subjectAltName"][0][1])
        await always(answer(b"{}"))(request, writer)

    for name in ("jane.test", "joe.test"):
        issued = authority.issue_cert(name)
        issued.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / f"{name}.pem"))
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    server = WireServer(note, context)
    await server.start()
    configuration = configure(
        host=server.url,
        ssl_ca_cert=str(tmp_path / "ca.pem"),
        cert_file=str(tmp_path / "jane.test.pem"),
    )
    try:
        async with Client.from_official(configuration) as client:
            await client.server_version()
            configuration.cert_file = str(tmp_path / "joe.test.pem")
            configuration.key_file = configuration.cert_file
            await client.server_version()
    finally:
        await server.stop()

    assert shown == ["jane.test", "joe.test"]


# -- setting by setting ----------------------------------------------------------------------


def test_the_server_and_whom_to_trust(configure: Callable[..., Any]) -> None:
    config = taken(configure(ssl_ca_cert="/ca.pem", tls_server_name="kubernetes"))

    assert config.server == HOST
    assert config.certificate_authority == "/ca.pem"
    assert config.tls_server_name == "kubernetes"
    assert not config.insecure_skip_tls_verify
    assert taken(configure(assert_hostname="kubernetes")).tls_server_name == "kubernetes"
    assert taken(configure(assert_hostname=True)).tls_server_name is None


def test_who_does_not_verify_looks_at_no_authority_either(configure: Callable[..., Any]) -> None:
    config = taken(configure(ssl_ca_cert="/ca.pem", verify_ssl=False, assert_hostname=False))

    assert config.insecure_skip_tls_verify
    assert config.certificate_authority is None


def test_an_authority_may_be_text_or_der(configure: Callable[..., Any]) -> None:
    pem = trustme.CA().cert_pem.bytes()
    der = ssl.PEM_cert_to_DER_cert(pem.decode())

    as_text = taken(configure(ca_cert_data=pem.decode())).certificate_authority
    as_der = taken(configure(ca_cert_data=der)).certificate_authority

    assert as_text == pem
    assert isinstance(as_der, bytes)
    assert ssl.PEM_cert_to_DER_cert(as_der.decode()) == der


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {}),
        ({"api_key": {"authorization": "Bearer t0ken"}}, {"Authorization": "Bearer t0ken"}),
        (
            # Some versions look for the key under both names, and for its prefix under one.
            {
                "api_key": {"authorization": "t0ken"},
                "api_key_prefix": {"authorization": "Bearer", "BearerToken": "Bearer"},
            },
            {"Authorization": "Bearer t0ken"},
        ),
        (
            {"username": "jane", "password": "pw"},
            {"Authorization": f"Basic {base64.b64encode(b'jane:pw').decode()}"},
        ),
    ],
    ids=["nobody", "key", "prefix", "password"],
)
async def test_who_is_asking(
    configure: Callable[..., Any], settings: dict[str, Any], expected: dict[str, str]
) -> None:
    credentials = taken(configure(**settings)).credentials

    assert await credentials.headers() == expected
    assert await credentials.client_certificate() is None
    assert not await credentials.refresh()


async def test_a_key_that_is_changed_later_counts_from_then_on(
    configure: Callable[..., Any],
) -> None:
    configuration = configure(api_key={"authorization": "Bearer one"})
    credentials = taken(configuration).credentials
    await credentials.headers()
    configuration.api_key["authorization"] = "Bearer two"

    assert await credentials.refresh()
    assert await credentials.headers() == {"Authorization": "Bearer two"}
    assert "two" not in repr(taken(configuration))


async def test_a_key_with_a_line_break_is_refused_unseen(configure: Callable[..., Any]) -> None:
    credentials = taken(configure(api_key={"authorization": "Bearer t0\nken"})).credentials

    with pytest.raises(ConfigError, match="line break") as caught:
        await credentials.headers()
    assert "ken" not in str(caught.value).replace("token", "")


def test_a_proxy_its_login_and_its_exceptions(configure: Callable[..., Any]) -> None:
    login = {"proxy-authorization": f"Basic {base64.b64encode(b'me:p@ss').decode()}"}

    assert taken(configure(proxy="http://proxy:3128")).proxy_url == "http://proxy:3128"
    with_login = taken(configure(proxy="http://proxy:3128", proxy_headers=login))
    assert with_login.proxy_url == "http://me:p%40ss@proxy:3128"
    excepted = configure(proxy="http://proxy:3128", no_proxy="example.com,.cluster.test")
    excepted.host = "https://api.cluster.test"
    assert taken(excepted).proxy_url is None


def test_what_a_client_adds_to_each_request(configure: Callable[..., Any], official: Any) -> None:
    with official.ApiClient(configure()) as client:
        plain = taken(client)
        client.user_agent = "mine/1.0"
        client.set_default_header("Impersonate-User", "joe")
        client.set_default_header("Impersonate-Group", "admins")
        client.set_default_header("Impersonate-Extra-scopes%2Fa", "b")
        config = taken(client)

    assert (plain.impersonation, plain.user_agent[:8]) == (None, "kinform/")
    assert config.user_agent == "mine/1.0"
    assert config.impersonation is not None
    assert dict(config.impersonation.headers()) == {
        "Impersonate-User": "joe",
        "Impersonate-Group": "admins",
        "Impersonate-Extra-scopes%2Fa": "b",
    }


# -- what does not go ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"host": ""}, "host .* is not set"),
        ({"assert_hostname": False}, "assert_hostname=False"),
        ({"assert_hostname": "a", "tls_server_name": "b"}, "assert_hostname"),
        ({"ca_cert_data": "x", "ssl_ca_cert": "/ca.pem"}, "ca_cert_data"),
        ({"ca_cert_data": b"x"}, "ca_cert_data"),
        ({"access_token": "t0ken"}, "access_token"),
        ({"proxy": "socks5://proxy:1080"}, "proxy of the official client names a SOCKS proxy"),
        ({"proxy": "http://proxy", "proxy_ssl_context": object()}, "proxy_ssl_context"),
        ({"proxy": "http://proxy", "proxy_headers": {"x-a": "b"}}, r"proxy_headers \(x-a\)"),
        (
            {"proxy": "http://proxy", "proxy_headers": {"proxy-authorization": "Digest x"}},
            r"proxy_headers \(proxy-authorization\)",
        ),
    ],
)
def test_a_setting_that_cannot_be_taken_over_is_named(
    configure: Callable[..., Any], settings: dict[str, Any], named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        Client.from_official(configure(**settings))


def test_a_header_that_means_nothing_to_us_is_named(
    configure: Callable[..., Any], official: Any
) -> None:
    with official.ApiClient(configure(), "X-Tenant", "blue") as client:
        with pytest.raises(ConfigError, match=r"default header x-tenant .* configuration instead"):
            Client.from_official(client)
        assert taken(client.configuration).server == HOST
    with (
        official.ApiClient(configure(), cookie="a=b") as client,
        pytest.raises(ConfigError, match="cookie"),
    ):
        Client.from_official(client)


def test_going_without_the_proxy_of_the_environment_cannot_be_taken_over(
    configure: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")

    with pytest.raises(ConfigError, match=r"add that host to NO_PROXY"):
        Client.from_official(configure(proxy=None))

    monkeypatch.setenv("NO_PROXY", "cluster.test")
    assert taken(configure(proxy=None)).proxy_url is None


def test_what_is_no_official_client_is_refused() -> None:
    with pytest.raises(ConfigError, match="a str is neither"):
        Client.from_official("https://cluster.test")
