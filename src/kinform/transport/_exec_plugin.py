"""Credentials from a client-go credential plugin, which runs again when they expire."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from kinform.errors import ConfigError
from kinform.transport._exec_credential import (
    EXEC_API_VERSIONS,
    ExecCredential,
    parse_exec_credential,
)
from kinform.transport._pem import CertificatePair
from kinform.transport._private_file import scratch_file
from kinform.transport._redacted import SecretBytes, SecretText
from kinform.transport._single_flight import SingleFlight

logger = logging.getLogger("kinform.transport")

INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")

_EXPIRY_MARGIN = 10.0  # a request should not outlive its token
_OUTPUT_LIMIT = 1024 * 1024
_SIZE_CHECK_PERIOD = 0.2
_STDERR_LINES = 5
_STDERR_CHARACTERS = 1000
# A plugin may use another cluster, which may have its own plugin; more levels are a cycle.
_DEPTH_VARIABLE = "KINFORM_EXEC_DEPTH"
_DEPTH_LIMIT = 4


class ExecPlugin:
    """Runs ``command`` to get a token or a client certificate, and keeps it until it expires.

    Concurrent callers share one run. ``cluster`` is passed to the plugin if given
    (``provideClusterInfo``). A plugin that takes longer than ``timeout`` seconds is killed.
    """

    def __init__(
        self,
        command: str,
        *,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        api_version: str = EXEC_API_VERSIONS[0],
        interactive_mode: str = "IfAvailable",
        install_hint: str = "",
        cluster: Mapping[str, Any] | None = None,
        timeout: float = 180.0,
    ) -> None:
        self._command = command
        # Tracebacks with local variables show these two as well.
        args = tuple(SecretText(each) for each in args)
        env = {name: SecretText(value) for name, value in (env or {}).items()}
        if api_version not in EXEC_API_VERSIONS:
            raise ConfigError(
                f"exec plugin {command!r}: apiVersion {api_version!r} is not supported; "
                f"use {' or '.join(EXEC_API_VERSIONS)}"
            )
        if interactive_mode not in INTERACTIVE_MODES:
            raise ConfigError(
                f"exec plugin {command!r}: interactiveMode {interactive_mode!r} is unknown; "
                f"use one of {', '.join(INTERACTIVE_MODES)}"
            )
        self._arguments = args
        self._environment = env
        self._api_version = api_version
        self._interactive_mode = interactive_mode
        self._install_hint = install_hint
        self._cluster = cluster
        self._timeout = timeout
        self._name = f"exec plugin {command!r}"
        self._credential: ExecCredential | None = None
        self._flight = SingleFlight(self._run)

    async def headers(self) -> Mapping[str, str]:
        return (await self._current()).headers

    async def client_certificate(self) -> CertificatePair | None:
        return (await self._current()).certificate

    async def refresh(self) -> bool:
        before = self._credential
        now = await self._flight.run()
        return before is None or (now.headers, now.certificate) != (
            before.headers,
            before.certificate,
        )

    async def _current(self) -> ExecCredential:
        credential = self._credential
        if credential is None or _is_expired(credential):
            credential = await self._flight.run()
        return credential

    async def _run(self) -> ExecCredential:
        interactive = self._is_interactive()
        environment = self._child_environment(interactive)
        logger.debug("running %s", self._name)
        with scratch_file() as stdout, scratch_file() as stderr:
            code = await self._execute(environment, interactive, stdout, stderr)
            if code != 0:
                raise ConfigError(self._failure(code, _tail(stderr)))
            output = SecretBytes(_content(stdout, _OUTPUT_LIMIT + 1))
        if len(output) > _OUTPUT_LIMIT:
            raise ConfigError(f"{self._name} printed more than {_OUTPUT_LIMIT} bytes")
        credential = parse_exec_credential(output, api_version=self._api_version, plugin=self._name)
        self._credential = credential
        return credential

    async def _execute(
        self, environment: Mapping[str, str], interactive: bool, stdout: BinaryIO, stderr: BinaryIO
    ) -> int:
        """Run the plugin and return its exit code.

        Output goes to files instead of pipes: a background process that the plugin leaves behind
        would keep a pipe open.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                self._command,
                *self._arguments,
                env=environment,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=stdout,
                stderr=None if interactive else stderr,
                # A new session allows killing the plugin's children, but has no terminal.
                start_new_session=not interactive,
            )
        except (OSError, ValueError) as error:
            # Without the frames of the cause: they have the environment, as bytes.
            raise ConfigError(self._not_started(error)) from error.with_traceback(None)
        try:
            async with asyncio.timeout(self._timeout):
                return await self._finished(process, stdout, stderr)
        except TimeoutError as error:
            raise ConfigError(
                f"{self._name} did not end within {self._timeout:g} s and was killed"
                + _quoted(_tail(stderr))
            ) from error
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    if interactive:
                        process.kill()
                    else:
                        os.killpg(process.pid, signal.SIGKILL)
                await process.wait()

    async def _finished(self, process: asyncio.subprocess.Process, *outputs: BinaryIO) -> int:
        """Wait for the end of the plugin. The files, which may be in memory, must not fill up."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SIZE_CHECK_PERIOD):
                    return await process.wait()
            if any(os.fstat(output.fileno()).st_size > _OUTPUT_LIMIT for output in outputs):
                raise ConfigError(f"{self._name} printed more than {_OUTPUT_LIMIT} bytes")

    def _is_interactive(self) -> bool:
        if self._interactive_mode == "Never":
            return False
        try:
            has_terminal = sys.stdin is not None and sys.stdin.isatty()
        except ValueError:  # closed
            has_terminal = False
        if self._interactive_mode == "Always" and not has_terminal:
            raise ConfigError(
                f"{self._name} has interactiveMode 'Always', but stdin is not a terminal; "
                "log in by hand first, or use another user"
            )
        return has_terminal

    def _child_environment(self, interactive: bool) -> dict[str, str]:
        import json

        depth = os.environ.get(_DEPTH_VARIABLE, "0")
        level = int(depth) + 1 if depth.isdecimal() else 1
        if level > _DEPTH_LIMIT:
            raise ConfigError(
                f"{self._name} calls itself: it was started {_DEPTH_LIMIT} levels deep from an "
                "exec plugin; give the plugin a kubeconfig of its own"
            )
        spec: dict[str, Any] = {"interactive": interactive}
        if self._cluster is not None:
            spec["cluster"] = self._cluster
        info = {"kind": "ExecCredential", "apiVersion": self._api_version, "spec": spec}
        environment = {
            **os.environ,
            **self._environment,
            "KUBERNETES_EXEC_INFO": json.dumps(info),
            _DEPTH_VARIABLE: str(level),
        }
        # Local variables of many frames: the values must not appear in their tracebacks.
        return {name: SecretText(value) for name, value in environment.items()}

    def _not_started(self, error: OSError | ValueError) -> str:
        if isinstance(error, FileNotFoundError):
            hint = self._install_hint.strip()
            way_out = f"\n{hint}" if hint else "; install it, or put it on the PATH"
            return f"{self._name} was not found{way_out}"
        if isinstance(error, PermissionError):
            return f"{self._name} may not be run; make it executable (chmod +x)"
        reason = error.strerror if isinstance(error, OSError) else error
        return f"{self._name} could not be started: {reason}"

    def _failure(self, code: int, stderr: str) -> str:
        how = f"failed with exit code {code}" if code > 0 else f"was ended by signal {-code}"
        return f"{self._name} {how}{_quoted(stderr)}"

    def describe(self) -> str:
        credential = self._credential
        if credential is None:
            return f"the {self._name}"
        kinds = []
        if credential.headers:
            kinds.append("a bearer token")
        if credential.certificate is not None:
            kinds.append("a client certificate")
        return f"{' and '.join(kinds)} of the {self._name}"

    def __repr__(self) -> str:
        # Arguments and environment may contain secrets.
        return f"ExecPlugin({self._command!r})"


def _is_expired(credential: ExecCredential) -> bool:
    expires_at = credential.expires_at
    return expires_at is not None and time.time() >= expires_at - _EXPIRY_MARGIN


def _content(file: BinaryIO, limit: int) -> bytes:
    file.seek(0)
    return file.read(limit)


def _tail(file: BinaryIO) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _STDERR_CHARACTERS))
    lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return "\n".join(line.rstrip() for line in lines[-_STDERR_LINES:])


def _quoted(stderr: str) -> str:
    return f"; it said:\n{stderr}" if stderr else ""
