"""Exec plugins: real scripts, real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kinform.errors import ConfigError
from kinform.transport import CertificatePair, ExecPlugin
from tests.support.waiting import wait_until

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


def credential(api_version: str = V1, **status: object) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": api_version, "status": status})


Script = Callable[[str], str]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Write an executable shell script that also logs each of its runs."""

    def write(body: str) -> str:
        path = tmp_path / "plugin"
        path.write_text(f"#!/bin/sh\necho run >> {tmp_path}/runs\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return write


@pytest.fixture
def runs(tmp_path: Path) -> Callable[[], int]:
    def count() -> int:
        log = tmp_path / "runs"
        return log.read_text().count("run") if log.exists() else 0

    return count


def printing(output: str) -> str:
    return f"cat <<'END'\n{output}\nEND"


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_a_token_is_kept_for_later_requests(
    script: Script, runs: Callable[[], int], version: str
) -> None:
    plugin = ExecPlugin(script(printing(credential(version, token="t1"))), api_version=version)
    for _ in range(3):
        assert await plugin.headers() == {"Authorization": "Bearer t1"}
        assert await plugin.client_certificate() is None
    assert runs() == 1


async def test_a_client_certificate_comes_through(script: Script) -> None:
    plugin = ExecPlugin(
        script(printing(credential(clientCertificateData="CERT\n", clientKeyData="KEY\n")))
    )
    assert await plugin.client_certificate() == CertificatePair(b"CERT\n", b"KEY\n")
    assert await plugin.headers() == {}


async def test_the_plugin_is_told_how_it_was_called(script: Script, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    command = script(
        f'printf "%s\\n%s\\n%s" "$KUBERNETES_EXEC_INFO" "$1 $2" "$REGION" > {seen}\n'
        + printing(credential(token="t"))
    )
    cluster = {"server": "https://h", "config": {"audience": "x"}}
    await ExecPlugin(
        command, args=["get", "token"], env={"REGION": "eu"}, cluster=cluster
    ).headers()
    info, arguments, region = seen.read_text().split("\n")
    assert json.loads(info) == {
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": {"interactive": False, "cluster": cluster},
    }
    assert (arguments, region) == ("get token", "eu")


async def test_cluster_info_is_told_only_when_asked_for(script: Script, tmp_path: Path) -> None:
    command = script(
        f'printf "%s" "$KUBERNETES_EXEC_INFO" > {tmp_path}/seen\n' + printing(credential(token="t"))
    )
    await ExecPlugin(command).headers()
    assert json.loads((tmp_path / "seen").read_text())["spec"] == {"interactive": False}


async def test_a_plugin_without_a_terminal_reads_an_empty_stdin(script: Script) -> None:
    plugin = ExecPlugin(script("cat > /dev/null\n" + printing(credential(token="t"))))
    assert await plugin.headers() == {"Authorization": "Bearer t"}


def expiring(seconds: float) -> str:
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    return credential(token="t", expirationTimestamp=moment.strftime("%Y-%m-%dT%H:%M:%SZ"))


@pytest.mark.parametrize(
    ("seconds", "expected"), [(-60, 3), (5, 3), (600, 1)], ids=["past", "about to", "later"]
)
async def test_an_expired_credential_is_fetched_again(
    script: Script, runs: Callable[[], int], seconds: float, expected: int
) -> None:
    plugin = ExecPlugin(script(printing(expiring(seconds))))
    for _ in range(3):
        await plugin.headers()
    assert runs() == expected


@pytest.mark.parametrize(
    "timestamp", ["2999-01-31T12:00:00Z", "2999-01-31T12:00:00.123456789Z", "2999-01-31T12:00:00"]
)
async def test_every_form_of_a_time_is_understood(
    script: Script, runs: Callable[[], int], timestamp: str
) -> None:
    plugin = ExecPlugin(script(printing(credential(token="t", expirationTimestamp=timestamp))))
    await plugin.headers()
    await plugin.headers()
    assert runs() == 1


async def test_refresh_runs_again_and_says_whether_anything_changed(
    script: Script, tmp_path: Path
) -> None:
    answers = tmp_path / "answer"
    answers.write_text(credential(token="t1"))
    plugin = ExecPlugin(script(f"cat {answers}"))
    await plugin.headers()
    assert not await plugin.refresh()
    answers.write_text(credential(token="t2"))
    assert await plugin.refresh()
    assert await plugin.headers() == {"Authorization": "Bearer t2"}


async def test_concurrent_callers_share_one_run(script: Script, runs: Callable[[], int]) -> None:
    plugin = ExecPlugin(script(printing(credential(token="t"))))
    headers = await asyncio.gather(*(plugin.headers() for _ in range(20)))
    assert headers == [{"Authorization": "Bearer t"}] * 20
    assert runs() == 1


async def test_concurrent_callers_share_one_failure(
    script: Script, runs: Callable[[], int]
) -> None:
    plugin = ExecPlugin(script("exit 3"))
    results = await asyncio.gather(*(plugin.headers() for _ in range(20)), return_exceptions=True)
    assert all(isinstance(result, ConfigError) for result in results)
    assert runs() == 1


async def wait_for_file(path: Path) -> None:
    await wait_until(lambda: path.exists() and bool(path.read_text().strip()))


def is_alive(process: int) -> bool:
    """True if it runs; a zombie that nobody has waited for yet is dead."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def wait_until_dead(process: int) -> None:
    await wait_until(lambda: not is_alive(process))


async def test_a_cancelled_caller_leaves_the_others_their_run(
    script: Script, runs: Callable[[], int], tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    plugin = ExecPlugin(script(f"read line < {gate}\n" + printing(credential(token="t"))))
    first, second = (asyncio.ensure_future(plugin.headers()) for _ in range(2))
    await wait_for_file(tmp_path / "runs")
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    # Open for both directions: writing then waits for nobody, even if the plugin is gone.
    with gate.open("rb+", buffering=0) as pipe:
        pipe.write(b"go\n")
        assert await second == {"Authorization": "Bearer t"}
    assert runs() == 1


async def test_the_last_cancelled_caller_ends_the_plugin_and_its_children(
    script: Script, tmp_path: Path
) -> None:
    plugin = ExecPlugin(script(f"sleep 1000 &\necho $! > {tmp_path}/child\nwait"))
    caller = asyncio.ensure_future(plugin.headers())
    await wait_for_file(tmp_path / "child")
    child = int((tmp_path / "child").read_text())
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await wait_until_dead(child)


async def test_a_plugin_that_never_ends_is_killed_with_its_children(
    script: Script, tmp_path: Path
) -> None:
    command = script(f"echo thinking >&2\nsleep 1000 &\necho $! > {tmp_path}/child\nwait")
    with pytest.raises(ConfigError, match=r"did not end within 0.5 s and was killed.*\nthinking"):
        await ExecPlugin(command, timeout=0.5).headers()
    await wait_until_dead(int((tmp_path / "child").read_text()))


async def test_a_helper_left_in_the_background_keeps_nobody_waiting(
    script: Script, tmp_path: Path
) -> None:
    body = f"sleep 1000 &\necho $! > {tmp_path}/child\n" + printing(credential(token="t"))
    plugin = ExecPlugin(script(body))
    try:
        assert await plugin.headers() == {"Authorization": "Bearer t"}
    finally:
        os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


async def test_a_missing_command_shows_the_install_hint() -> None:
    plugin = ExecPlugin("no-such-plugin-anywhere", install_hint="Get it from https://example.org")
    with pytest.raises(ConfigError, match=r"'no-such-plugin-anywhere' was not found\nGet it from"):
        await plugin.headers()


async def test_a_missing_command_without_a_hint_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match="was not found; install it, or put it on the PATH"):
        await ExecPlugin("no-such-plugin-anywhere").headers()


async def test_a_command_that_may_not_run_says_so(tmp_path: Path) -> None:
    path = tmp_path / "plugin"
    path.write_text("#!/bin/sh\n")
    with pytest.raises(ConfigError, match=r"may not be run; make it executable \(chmod \+x\)"):
        await ExecPlugin(str(path)).headers()


async def test_a_command_that_is_no_program_says_so(tmp_path: Path) -> None:
    path = tmp_path / "plugin"
    path.write_bytes(b"\x00\x01\x02")
    path.chmod(0o755)
    with pytest.raises(ConfigError, match="could not be started: Exec format error"):
        await ExecPlugin(str(path)).headers()


async def test_a_failing_plugin_is_quoted_from_stderr_and_never_from_stdout(
    script: Script,
) -> None:
    lines = "".join(f"echo line {number} >&2\n" for number in range(1, 9))
    plugin = ExecPlugin(script(f"echo s3cr3t\n{lines}exit 7"))
    with pytest.raises(ConfigError) as caught:
        await plugin.headers()
    text = str(caught.value)
    assert "failed with exit code 7; it said:\nline 4\nline 5" in text
    assert text.endswith("line 8")
    assert "line 3" not in text
    assert "s3cr3t" not in text


async def test_a_plugin_ended_by_a_signal_says_which(script: Script) -> None:
    with pytest.raises(ConfigError, match="was ended by signal 15"):
        await ExecPlugin(script("kill -TERM $$")).headers()


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        ("", "printed nothing on stdout, not an ExecCredential"),
        ("s3cr3t {", "printed something that is not JSON"),
        ("[" * 100_000, "printed something that is not JSON"),
        ('["s3cr3t"]', "printed a JSON array, not an ExecCredential"),
        ("null", "printed a JSON null"),
        ('{"kind": "Pod"}', "printed kind 'Pod', not 'ExecCredential'"),
        (
            credential(V1BETA1, token="s3cr3t"),
            f"printed apiVersion '{V1BETA1}', but the kubeconfig asks for '{V1}'",
        ),
        (
            json.dumps({"kind": "ExecCredential", "apiVersion": V1}),
            "printed an ExecCredential without a status",
        ),
        (credential(), "neither a token nor a client certificate"),
        (credential(token=""), "neither a token nor a client certificate"),
        (credential(token=12), "printed status.token as number, not as a string"),
        (credential(token="s3cr3t\nX: y"), "characters that a token cannot have"),
        (
            credential(clientCertificateData="s3cr3t"),
            "printed clientCertificateData without clientKeyData",
        ),
        (
            credential(clientKeyData="s3cr3t"),
            "printed clientKeyData without clientCertificateData",
        ),
        (
            credential(token="s3cr3t", expirationTimestamp="tomorrow"),
            "printed expirationTimestamp 'tomorrow', which is not an RFC 3339 time",
        ),
    ],
)
async def test_rubbish_is_named_and_never_shown(
    script: Script, output: str, complaint: str
) -> None:
    command = script(printing(output))
    with pytest.raises(ConfigError) as caught:
        await ExecPlugin(command).headers()
    assert f"exec plugin '{command}'" in str(caught.value) or "token of exec" in str(caught.value)
    assert complaint in str(caught.value)
    assert "s3cr3t" not in f"{caught.value} {caught.value.__cause__!r}"


async def test_endless_output_is_refused(script: Script) -> None:
    with pytest.raises(ConfigError, match="printed more than 1048576 bytes"):
        await ExecPlugin(script("head -c 2000000 /dev/zero")).headers()


async def test_a_failed_run_is_tried_again_by_the_next_caller(
    script: Script, tmp_path: Path
) -> None:
    command = script(f"test -e {tmp_path}/ready || exit 1\n" + printing(credential(token="t")))
    plugin = ExecPlugin(command)
    with pytest.raises(ConfigError):
        await plugin.headers()
    (tmp_path / "ready").touch()
    assert await plugin.headers() == {"Authorization": "Bearer t"}


class Terminal:
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("mode", "expected"), [("Never", False), ("IfAvailable", True), ("Always", True)]
)
async def test_a_terminal_is_offered_as_the_mode_says(
    script: Script, tmp_path: Path, mode: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    command = script(
        f'printf "%s" "$KUBERNETES_EXEC_INFO" > {tmp_path}/seen\n' + printing(credential(token="t"))
    )
    await ExecPlugin(command, interactive_mode=mode).headers()
    spec: dict[str, Any] = json.loads((tmp_path / "seen").read_text())["spec"]
    assert spec["interactive"] is expected


@pytest.mark.parametrize("stdin", [None, "closed", "file"])
async def test_a_mode_that_needs_a_terminal_fails_without_one(
    script: Script, runs: Callable[[], int], stdin: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(os.devnull) as file:
        if stdin == "closed":
            file.close()
        monkeypatch.setattr(sys, "stdin", None if stdin is None else file)
        plugin = ExecPlugin(script("exit 0"), interactive_mode="Always")
        with pytest.raises(ConfigError, match="interactiveMode 'Always', but stdin is not a term"):
            await plugin.headers()
    assert runs() == 0


async def test_a_plugin_that_calls_itself_is_stopped(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "import asyncio, sys\n"
        "from kinform.transport import ExecPlugin\n"
        "asyncio.run(ExecPlugin(sys.executable, args=[__file__]).headers())\n"
    )
    with pytest.raises(ConfigError, match="calls itself: it was started 4 levels deep"):
        await ExecPlugin(sys.executable, args=[str(plugin)]).headers()


@pytest.mark.parametrize("version", ["", "v1", "client.authentication.k8s.io/v1alpha1"])
def test_an_unknown_version_is_refused(version: str) -> None:
    with pytest.raises(ConfigError, match=r"is not supported; use client\.authentication"):
        ExecPlugin("x", api_version=version)


def test_an_unknown_interactive_mode_is_refused() -> None:
    with pytest.raises(ConfigError, match="'Sometimes' is unknown; use one of Never, IfAvailable"):
        ExecPlugin("x", interactive_mode="Sometimes")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_plugin_that_never_stops_printing_is_killed(stream: str) -> None:
    """18.21: Its output is kept in memory, and must not fill it until the timeout."""
    script = f"import sys\nwhile True: sys.{stream}.write('x' * 65536)"
    plugin = ExecPlugin(sys.executable, args=["-c", script], interactive_mode="Never", timeout=60)

    with pytest.raises(ConfigError, match="printed more than 1048576 bytes"):
        await plugin.headers()
