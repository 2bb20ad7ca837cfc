"""Which proxy: ``proxy-url`` first, else the environment, read as Go reads it."""

from __future__ import annotations

import base64

import pytest

from kinform.errors import ConfigError
from kinform.transport._proxy import choose_proxy, parse_proxy

SERVER = "https://api.dev.example.org:6443"


def chosen(server: str = SERVER, proxy_url: str | None = None, **environment: str) -> str | None:
    proxy = choose_proxy(server, proxy_url=proxy_url, environment=environment)
    return None if proxy is None else proxy.url


def test_without_any_setting_there_is_no_proxy() -> None:
    assert chosen() is None


def test_the_configured_proxy_wins_over_the_environment_and_its_exceptions() -> None:
    assert chosen(proxy_url="http://p:1", HTTPS_PROXY="http://q:2", NO_PROXY="*") == "http://p:1"


def test_the_variable_goes_by_the_servers_scheme_and_upper_case_first() -> None:
    both = {"HTTPS_PROXY": "http://s:1", "HTTP_PROXY": "http://p:2"}
    assert chosen(**both) == "http://s:1"
    assert chosen("http://h.example.org", **both) == "http://p:2"
    assert chosen(https_proxy="http://low:1") == "http://low:1"
    assert chosen(https_proxy="http://low:1", HTTPS_PROXY="http://up:1") == "http://up:1"


def test_an_address_without_a_scheme_is_http() -> None:
    assert chosen(HTTPS_PROXY="proxy:3128") == "http://proxy:3128"


def test_in_cgi_the_http_variable_is_not_believed() -> None:
    environment = {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}
    assert chosen("http://h.example.org", **environment) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_this_machine_is_never_reached_by_the_environments_proxy(host: str) -> None:
    assert chosen(f"https://{host}:6443", HTTPS_PROXY="http://p:1") is None


@pytest.mark.parametrize(
    ("server", "exceptions", "direct"),
    [
        ("https://a.b.org", "*", True),
        ("https://a.b.org", "x.org, b.org", True),
        ("https://a.b.org", "B.ORG", True),
        ("https://b.org", "b.org", True),
        ("https://b.org", ".b.org", False),
        ("https://a.b.org", ".b.org", True),
        ("https://a.b.org", "*.b.org", True),
        ("https://ab.org", "b.org", False),
        ("https://b.org:6443", "b.org:6443", True),
        ("https://b.org:6443", "b.org:443", False),
        ("https://b.org", "b.org:443", True),
        ("https://10.1.2.3", "10.0.0.0/8", True),
        ("https://11.1.2.3", "10.0.0.0/8", False),
        ("https://b.org", "10.0.0.0/8", False),
        ("https://10.1.2.3", "10.1.2.3", True),
        ("https://10.1.2.3:6443", "10.1.2.3:443", False),
        ("https://[fd00::1]", "fd00::/16", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://[fd00::1]", "fd00::1", True),
        ("https://10.1.2.3", "nonsense/8, , 10.1.2.4", False),
    ],
)
def test_exceptions_are_read_as_go_reads_them(server: str, exceptions: str, direct: bool) -> None:
    proxy = chosen(server, HTTPS_PROXY="http://p:1", NO_PROXY=exceptions)
    assert (proxy is None) is direct


def test_a_login_is_split_off_and_never_shown() -> None:
    proxy = parse_proxy("http://us%40er:s3cr3t%2F@[::1]:3128", origin="proxy-url")
    login = base64.b64encode(b"us@er:s3cr3t/").decode()
    assert proxy.url == "http://[::1]:3128"
    assert proxy.headers == {"Proxy-Authorization": f"Basic {login}"}
    assert "s3cr3t" not in repr(proxy)
    assert login not in repr(proxy)


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("socks5://u:s3cr3t@p:1080", r"names a SOCKS proxy \(socks5://p\), which is not supported"),
        ("socks5h://p:1080", "names a SOCKS proxy"),
        ("ftp://u:s3cr3t@p", "must look like http://proxy:3128"),
        ("http://", "must look like http://proxy:3128"),
        ("http://u:s3cr3t@p:port", "is not an address such as http://proxy:3128"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_without_its_login(
    address: str, complaint: str
) -> None:
    with pytest.raises(ConfigError, match=f"HTTPS_PROXY {complaint}") as caught:
        chosen(HTTPS_PROXY=address)
    assert "s3cr3t" not in str(caught.value)
