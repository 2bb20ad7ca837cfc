"""Parsing of the output of exec credential plugins."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from kinform.errors import ConfigError
from kinform.transport._credentials import bearer
from kinform.transport._pem import CertificatePair
from kinform.transport._redacted import Redacted, SecretText

_NOT_JSON = object()
EXEC_API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


class ExecCredential(Redacted, frozen=True):
    """The ``status`` of an ExecCredential. The repr shows only its expiry."""

    shown: ClassVar = ("expires_at",)

    headers: Mapping[str, str]
    certificate: CertificatePair | None
    expires_at: float | None
    """Seconds since the epoch; ``None`` if the plugin gave no expiry."""


def parse_exec_credential(output: bytes, *, api_version: str, plugin: str) -> ExecCredential:
    """Parse an ``ExecCredential``.

    Raises:
        ConfigError: The output is invalid. The message says why, and never shows the output.
    """
    answer = _parse(output)
    if answer is _NOT_JSON:
        reason = "nothing" if not output.strip() else "something that is not JSON"
        raise _rubbish(plugin, f"printed {reason} on stdout, not an ExecCredential")
    if not isinstance(answer, dict):
        raise _rubbish(plugin, f"printed a JSON {_json_type(answer)}, not an ExecCredential")
    if answer.get("kind") != "ExecCredential":
        raise _rubbish(plugin, f"printed kind {_shown(answer.get('kind'))}, not 'ExecCredential'")
    if answer.get("apiVersion") != api_version:
        raise _rubbish(
            plugin,
            f"printed apiVersion {_shown(answer.get('apiVersion'))}, but the kubeconfig asks for "
            f"{api_version!r}; make the two agree",
        )
    status = answer.get("status")
    if not isinstance(status, dict):
        raise _rubbish(plugin, "printed an ExecCredential without a status")
    return _parse_status(status, plugin)


def _parse_status(status: Mapping[str, Any], plugin: str) -> ExecCredential:
    token = _text(status, "token", plugin)
    certificate = _text(status, "clientCertificateData", plugin)
    key = _text(status, "clientKeyData", plugin)
    if certificate and not key:
        raise _rubbish(plugin, "printed clientCertificateData without clientKeyData")
    if key and not certificate:
        raise _rubbish(plugin, "printed clientKeyData without clientCertificateData")
    if not token and not certificate:
        raise _rubbish(plugin, "printed a status with neither a token nor a client certificate")
    return ExecCredential(
        headers=bearer(token, origin=f"the token of {plugin}") if token else {},
        certificate=CertificatePair(certificate.encode(), key.encode()) if certificate else None,
        expires_at=_timestamp(_text(status, "expirationTimestamp", plugin), plugin),
    )


def _parse(output: bytes) -> Any:
    """Return the JSON value with texts that redact themselves, or ``_NOT_JSON``.

    An exception would refer to frames that have the output, and in it perhaps a secret.
    """
    import json

    try:
        return _redacted(json.loads(output))
    except (ValueError, RecursionError):
        return _NOT_JSON


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return SecretText(value)
    if isinstance(value, list):
        return [_redacted(each) for each in value]
    if isinstance(value, dict):
        return {name: _redacted(each) for name, each in value.items()}
    return value


def _shown(value: object) -> str:
    return repr(str(value) if isinstance(value, str) else value)


def _text(status: Mapping[str, Any], name: str, plugin: str) -> str:
    value = status.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _rubbish(plugin, f"printed status.{name} as {_json_type(value)}, not as a string")
    return value


def _timestamp(text: str, plugin: str) -> float | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _rubbish(
            plugin,
            f"printed expirationTimestamp {_shown(text[:40])}, which is not an RFC 3339 time "
            "such as 2030-01-31T12:00:00Z",
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", SecretText: "string", list: "array"}
    return names.get(type(value), "object")


def _rubbish(plugin: str, what: str) -> ConfigError:
    return ConfigError(f"{plugin} {what}")
