"""Invalid fields of an object or of options, in the words of kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class FieldProblem(msgspec.Struct, frozen=True):
    """An invalid field and its error. ``reason`` is that of the cause in the Status."""

    reason: str
    field: str
    message: str

    def as_cause(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.message, "field": self.field}

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, explanation: str = "") -> FieldProblem:
    text = f"Required value: {explanation}" if explanation else "Required value"
    return FieldProblem("FieldValueRequired", field, text)


def wrong_value(field: str, value: object, explanation: str) -> FieldProblem:
    shown = msgspec.json.encode(value).decode()
    return FieldProblem("FieldValueInvalid", field, f"Invalid value: {shown}: {explanation}")


def unsupported_value(field: str, value: object, supported: Iterable[str]) -> FieldProblem:
    shown = msgspec.json.encode(value).decode()
    choices = ", ".join(f'"{choice}"' for choice in supported)
    return FieldProblem(
        "FieldValueNotSupported", field, f"Unsupported value: {shown}: supported values: {choices}"
    )


def forbidden_value(field: str, explanation: str) -> FieldProblem:
    return FieldProblem("FieldValueForbidden", field, f"Forbidden: {explanation}")
