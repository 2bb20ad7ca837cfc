"""The kubeconfig that the embedded server writes: what is in it, and who can read it."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest
import yaml

from kinform.errors import ConfigError
from kinform.testing.server import write_kubeconfig


def test_it_names_the_server_the_authority_and_the_token(tmp_path: Path) -> None:
    path = tmp_path / "config"

    written = write_kubeconfig(path, url="https://127.0.0.1:1", ca_pem=b"PEM", token="secret")

    assert written == path
    config = yaml.safe_load(path.read_text())
    assert config["current-context"] == "kinform"
    assert config["contexts"] == [
        {
            "name": "kinform",
            "context": {"cluster": "kinform", "user": "kinform", "namespace": "default"},
        }
    ]
    cluster = config["clusters"][0]["cluster"]
    assert cluster["server"] == "https://127.0.0.1:1"
    assert base64.b64decode(cluster["certificate-authority-data"]) == b"PEM"
    assert config["users"] == [{"name": "kinform", "user": {"token": "secret"}}]


def test_without_tls_and_tokens_neither_is_mentioned(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", url="http://127.0.0.1:1", ca_pem=None, token=None)

    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"] == {"server": "http://127.0.0.1:1"}
    assert config["users"] == [{"name": "kinform", "user": {}}]


def test_only_its_owner_can_read_it_even_where_a_laxer_file_was(tmp_path: Path) -> None:
    path = tmp_path / "config"
    write_kubeconfig(path, url="http://127.0.0.1:2", ca_pem=None, token="old")
    path.chmod(0o644)

    write_kubeconfig(path, url="http://127.0.0.1:1", ca_pem=None, token="secret")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["config"]


@pytest.mark.parametrize(
    "theirs", ["not: [yaml", "text", "contexts: [{name: prod}]", "contexts: [{name: kinform}, {}]"]
)
def test_a_file_of_somebody_else_is_never_replaced(tmp_path: Path, theirs: str) -> None:
    path = tmp_path / "config"
    path.write_text(theirs)

    with pytest.raises(ConfigError, match="is not a kubeconfig of the embedded server"):
        write_kubeconfig(path, url="http://127.0.0.1:1", ca_pem=None, token=None)
    assert path.read_text() == theirs


@pytest.mark.parametrize("blocked", ["missing/config", "file/config", "folder"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, blocked: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()

    with pytest.raises(ConfigError, match=f"cannot write the kubeconfig .*{blocked}"):
        write_kubeconfig(tmp_path / blocked, url="http://x", ca_pem=None, token=None)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder"]


def test_the_draft_follows_no_link_that_was_put_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """18.20: In a shared folder, others can put links under every name they can guess."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f".config.{os.getpid()}.tmp").symlink_to(victim)
    drafts: list[tuple[str, int]] = []
    replace = os.replace

    def observed(source: str, target: Path) -> None:
        drafts.append((source, stat.S_IMODE(os.lstat(source).st_mode)))
        replace(source, target)

    monkeypatch.setattr(os, "replace", observed)

    for _ in range(2):
        path = write_kubeconfig(tmp_path / "config", url="http://x", ca_pem=None, token="secret")

    assert victim.read_text() == "mine"
    assert "secret" in path.read_text()
    assert not path.is_symlink()
    assert len({draft for draft, _ in drafts}) == 2
    assert {mode for _, mode in drafts} == {0o600}


def test_a_link_under_the_name_itself_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """18.20: The target of a link is not written."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch()
    (tmp_path / "config").symlink_to(elsewhere)

    path = write_kubeconfig(tmp_path / "config", url="http://x", ca_pem=None, token="secret")

    assert elsewhere.read_text() == ""
    assert not path.is_symlink()
