"""Which form an Accept header gets."""

from __future__ import annotations

import pytest

from kinform.errors import NotAcceptableError
from kinform.testing.formats import (
    JSON,
    PROTOBUF,
    YAML,
    ResponseFormat,
    error_format,
    negotiate,
)

METADATA = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", ResponseFormat(JSON)),
        ("*/*", ResponseFormat(JSON)),
        (PROTOBUF, ResponseFormat(PROTOBUF)),
        (f"{PROTOBUF};stream=watch", ResponseFormat(PROTOBUF)),
        (f"{PROTOBUF}, {JSON}", ResponseFormat(PROTOBUF)),
        (f"{JSON},{PROTOBUF}", ResponseFormat(JSON)),
        (f"{PROTOBUF};q=0.2,{JSON};q=0.8", ResponseFormat(JSON)),
        (f"{JSON};q=0.2,{PROTOBUF};q=0.8", ResponseFormat(PROTOBUF)),
        (f"*/*,{PROTOBUF}", ResponseFormat(PROTOBUF)),
        (f"text/html,{YAML},{PROTOBUF}", ResponseFormat(YAML)),
        (f"{PROTOBUF}{METADATA}", ResponseFormat(PROTOBUF, "PartialObjectMetadata", "v1")),
        (f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1,{JSON}", ResponseFormat(JSON)),
    ],
)
def test_a_built_in_kind_comes_in_the_best_form_that_is_accepted(
    accept: str, form: ResponseFormat
) -> None:
    assert negotiate(accept, custom=False) == form


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (f"{PROTOBUF},{JSON}", ResponseFormat(JSON)),
        (f"{PROTOBUF},*/*", ResponseFormat(JSON)),
        (f"{PROTOBUF}{METADATA},{JSON}", ResponseFormat(PROTOBUF, "PartialObjectMetadata", "v1")),
    ],
)
def test_a_custom_kind_has_no_protobuf_but_of_its_metadata(
    accept: str, form: ResponseFormat
) -> None:
    assert negotiate(accept, custom=True) == form


@pytest.mark.parametrize(
    ("accept", "custom", "watch"),
    [
        (PROTOBUF, True, False),
        (f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1", False, False),
        (f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v2", True, False),
        ("application/cbor", False, False),
        (f"{YAML},{PROTOBUF}", False, True),
    ],
)
def test_what_there_is_not_is_not_acceptable(accept: str, custom: bool, watch: bool) -> None:
    with pytest.raises(NotAcceptableError, match=PROTOBUF):
        negotiate(accept, custom=custom, watch=watch)


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", JSON),
        ("text/html", JSON),
        (PROTOBUF, PROTOBUF),
        (f"{PROTOBUF};stream=watch", PROTOBUF),
        (f"{PROTOBUF}{METADATA}", JSON),
        (f"{PROTOBUF}{METADATA},{PROTOBUF}", PROTOBUF),
        (f"{JSON};q=0.1,{YAML}", YAML),
    ],
)
def test_errors_have_forms_of_their_own(accept: str, media_type: str) -> None:
    assert error_format(accept) == media_type
