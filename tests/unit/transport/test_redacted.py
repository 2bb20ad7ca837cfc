"""What holds secrets shows none of them, whoever prints it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping

import msgspec
import pytest

from kinform.transport import BasicAuth, CertificatePair, ClusterConfig, Request
from kinform.transport._exec_credential import ExecCredential
from kinform.transport._proxy import Proxy
from kinform.transport._redacted import Redacted

SECRET = "s3cr3t"
HEADERS: Mapping[str, str] = {"Authorization": SECRET}
PAIR = CertificatePair(SECRET.encode(), SECRET.encode())

SHOWN: list[tuple[Redacted, str]] = [
    (PAIR, "CertificatePair()"),
    (ExecCredential(HEADERS, PAIR, 1.5), "ExecCredential(expires_at=1.5)"),
    (Proxy("http://proxy:3128", HEADERS), "Proxy(url='http://proxy:3128')"),
    (
        Request("POST", "/api", body=SECRET.encode()),
        "Request(method='POST', path='/api', query={}, headers={}, total_timeout=None, "
        "is_stream=False)",
    ),
    (
        ClusterConfig(
            server="https://h",
            certificate_authority=SECRET.encode(),
            proxy_url=f"http://me:{SECRET}@proxy:3128",
            credentials=BasicAuth("admin", SECRET),
        ),
        "ClusterConfig(server='https://h', namespace='default', proxy_url='http://proxy:3128', "
        "credentials=BasicAuth('admin', ***))",
    ),
]
NAMES = [type(value).__name__ for value, _ in SHOWN]


@pytest.mark.parametrize(("value", "shown"), SHOWN, ids=NAMES)
def test_it_shows_what_it_may(value: Redacted, shown: str) -> None:
    assert repr(value) == str(value) == shown


@pytest.mark.parametrize(("value", "shown"), SHOWN, ids=NAMES)
def test_rich_is_told_no_more(value: Redacted, shown: str) -> None:
    assert SECRET not in str(value.__rich_repr__())
    assert all(f"{name}=" in shown for name, _ in value.__rich_repr__())


@pytest.mark.parametrize(("value", "shown"), SHOWN, ids=NAMES)
def test_its_variants_and_copies_show_the_same(value: Redacted, shown: str) -> None:
    assert repr(msgspec.structs.replace(value)) == shown
    assert repr(copy.deepcopy(value)) == shown
    assert repr(pickle.loads(pickle.dumps(value))) == shown


def test_a_field_that_nobody_named_is_not_shown() -> None:
    class Careless(Redacted, frozen=True):
        token: str

    assert SECRET not in f"{Careless(SECRET)} {Careless(SECRET).__rich_repr__()}"
