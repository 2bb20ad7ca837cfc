"""``kinform serve`` as a process: what it prints, what it serves, how it stops."""

from __future__ import annotations

import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml


class Serving:
    """A running ``kinform serve``: its greeting, and a way to ask it things."""

    def __init__(self, process: subprocess.Popen[str], greeting: str) -> None:
        self.process = process
        self.greeting = greeting
        [self.url] = re.findall(r"https?://127\.0\.0\.1:\d+", greeting)
        [self.kubeconfig] = re.findall(r"export KUBECONFIG=(\S+)", greeting)

    def get(
        self,
        path: str,
        *,
        token: str = "",
        host: str = "",
        context: ssl.SSLContext | None = None,
    ) -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if host:
            headers["Host"] = host
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request, context=context, timeout=20) as answer:
            return json.load(answer)


@contextmanager
def _serve(*arguments: str) -> Iterator[Serving]:
    process = subprocess.Popen(
        [sys.executable, "-m", "kinform", "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        greeting = ""
        for line in process.stdout:
            greeting += line
            if "Ctrl-C" in line:
                break
        yield Serving(process, greeting)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_stop_and_exits_with_zero(number: signal.Signals) -> None:
    with _serve() as serving:
        assert serving.get("/version")["gitVersion"].startswith("v1.")
        assert Path(serving.kubeconfig).exists()

        serving.process.send_signal(number)
        out, err = serving.process.communicate(timeout=20)

    assert (serving.process.returncode, out, err) == (0, "kinform: stopped\n", "")
    assert not Path(serving.kubeconfig).exists()


def test_it_stops_while_a_watch_is_open() -> None:
    with _serve() as serving:
        watch = urllib.request.urlopen(f"{serving.url}/api/v1/pods?watch=true", timeout=20)

        serving.process.send_signal(signal.SIGINT)
        serving.process.communicate(timeout=20)
        watch.close()

    assert serving.process.returncode == 0


def test_with_tls_and_a_token_only_who_has_both_gets_in(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with _serve("--tls", "--token", "s3cret", "--kubeconfig", str(path)) as serving:
        config = yaml.safe_load(path.read_text())
        authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
        trust = ssl.create_default_context(cadata=_pem(authority))

        assert serving.url.startswith("https://")
        assert serving.kubeconfig == str(path)
        assert config["users"][0]["user"]["token"] == "s3cret"
        assert serving.get("/api/v1/pods", token="s3cret", context=trust)["items"] == []
        with pytest.raises(urllib.error.HTTPError, match="401"):
            serving.get("/api/v1/pods", token="wrong", context=trust)
        assert "s3cret" not in serving.greeting


def test_with_tls_a_random_token_is_required_unless_it_is_switched_off(tmp_path: Path) -> None:
    """18.22: The kubeconfig carries it."""
    path = tmp_path / "kubeconfig"
    with _serve("--tls", "--kubeconfig", str(path)) as serving:
        config = yaml.safe_load(path.read_text())
        authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
        trust = ssl.create_default_context(cadata=_pem(authority))
        token = config["users"][0]["user"]["token"]

        assert len(token) >= 32
        assert token not in serving.greeting
        assert serving.get("/api/v1/pods", token=token, context=trust)["items"] == []
        with pytest.raises(urllib.error.HTTPError, match="403"):
            serving.get("/api/v1/pods", context=trust)

    with _serve("--tls", "--no-token", "--kubeconfig", str(path)) as serving:
        assert yaml.safe_load(path.read_text())["users"][0]["user"] == {}
        assert "no authentication" in serving.greeting


def test_other_host_names_can_be_allowed() -> None:
    """18.22: The Host header is checked."""
    with _serve("--allow-host", "api.test") as serving:
        assert serving.get("/version", host="api.test")["major"] == "1"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            serving.get("/version", host="evil.test")


def _pem(data: str) -> str:
    import base64

    return base64.b64decode(data).decode()


def test_it_can_start_with_a_load_of_pods() -> None:
    with _serve("--load", "25") as serving:
        pods = serving.get("/api/v1/namespaces/load/pods?limit=10")

    assert len(pods["items"]) == 10
    assert pods["metadata"]["remainingItemCount"] == 15


def test_it_can_start_with_a_cluster_that_lives() -> None:
    with _serve("--living") as serving:
        before = serving.get("/api/v1/pods")
        version = before["metadata"]["resourceVersion"]
        watch = urllib.request.urlopen(
            f"{serving.url}/api/v1/pods?watch=true&resourceVersion={version}", timeout=30
        )
        event = json.loads(watch.readline())
        watch.close()

    assert {pod["status"]["phase"] for pod in before["items"]} == {"Running"}
    assert event["object"]["kind"] == "Pod"


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "kinform", "serve", "--port", port],
            capture_output=True,
            text=True,
            timeout=30,
        )

    assert done.returncode == 1
    assert port in done.stderr
    assert "Traceback" not in done.stderr


def test_a_kubeconfig_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "kubeconfig"
    done = subprocess.run(
        [sys.executable, "-m", "kinform", "serve", "--kubeconfig", str(path)],
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert done.returncode == 1
    assert f"cannot write the kubeconfig {path}" in done.stderr
    assert "Traceback" not in done.stderr
