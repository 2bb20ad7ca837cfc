"""Content negotiation: selects the format of a response from an Accept header."""

from __future__ import annotations

import msgspec

from kinform.testing import api_errors

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_OFFERED = f"{JSON}, {YAML}, {PROTOBUF}"
_STREAMED = f"{JSON};stream=watch, {PROTOBUF};stream=watch"
_METADATA_VERSIONS = frozenset({"v1", "v1beta1"})
_METADATA_KINDS = frozenset({"PartialObjectMetadata", "PartialObjectMetadataList"})


class AcceptClause(msgspec.Struct, frozen=True):
    """One alternative of an Accept header."""

    media_type: str
    parameters: dict[str, str]
    quality: float


class ResponseFormat(msgspec.Struct, frozen=True):
    """The format of a response. ``kind`` and ``version`` are set for metadata-only requests."""

    media_type: str = JSON
    kind: str = ""
    version: str = ""


def parse_accept(header: str) -> list[AcceptClause]:
    """Return the alternatives, best first; among equals, those that name a type first."""
    clauses = []
    for part in header.split(","):
        media_type, *rest = (piece.strip() for piece in part.split(";"))
        parameters = dict(piece.split("=", 1) for piece in rest if "=" in piece)
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 1.0
        if media_type:
            clauses.append(AcceptClause(media_type.lower(), parameters, quality))
    return sorted(clauses, key=lambda clause: (-clause.quality, "*" in clause.media_type))


def negotiate(header: str, *, custom: bool, watch: bool = False) -> ResponseFormat:
    """Return the first format accepted by the client that the server supports.

    Custom resources have no protobuf form, except for their metadata.

    Raises:
        NotAcceptableError: The server supports none of them.
    """
    clauses = parse_accept(header)
    if not clauses:
        return ResponseFormat()
    for clause in clauses:
        if (form := _form(clause, custom=custom)) is None:
            continue
        if watch and form.media_type == YAML:
            raise api_errors.not_acceptable(
                f"only the following media types are accepted: {_STREAMED}"
            )
        return form
    readable = any(clause.media_type in (JSON, YAML, PROTOBUF, "*/*") for clause in clauses)
    if readable or custom:
        raise api_errors.not_acceptable(f"only the following media types are accepted: {_OFFERED}")
    raise api_errors.not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {_OFFERED}")


def check_format(form: ResponseFormat, *, listing: bool, kind: str) -> None:
    """Refuse list metadata for a single object, and vice versa."""
    if form.kind == "PartialObjectMetadataList" and not listing:
        raise api_errors.not_acceptable(
            f"you requested {form.kind}, but the requested object is not a list (*{kind})"
        )
    if form.kind == "PartialObjectMetadata" and listing:
        raise api_errors.not_acceptable(
            f"you requested {form.kind}, but the requested object is a list (*{kind}List)"
        )


def error_format(header: str) -> str:
    """Return the media type of a ``Status`` with an error, for any request."""
    for clause in parse_accept(header):
        if clause.media_type in (JSON, YAML, PROTOBUF) and "as" not in clause.parameters:
            return clause.media_type
    return JSON


def _form(clause: AcceptClause, *, custom: bool) -> ResponseFormat | None:
    if clause.media_type == "*/*":
        return ResponseFormat()
    if clause.media_type not in (JSON, YAML, PROTOBUF):
        return None
    kind = clause.parameters.get("as", "")
    if not kind:
        return (
            None if custom and clause.media_type == PROTOBUF else ResponseFormat(clause.media_type)
        )
    version = clause.parameters.get("v", "")
    known = (
        kind in _METADATA_KINDS
        and clause.parameters.get("g") == "meta.k8s.io"
        and version in _METADATA_VERSIONS
    )
    return ResponseFormat(clause.media_type, kind, version) if known else None
