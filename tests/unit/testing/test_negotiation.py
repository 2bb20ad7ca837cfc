"""Which form an Accept header gets."""

from __future__ import annotations

import pytest

from kinform.errors import NotAcceptableError
from kinform.testing._negotiation import JSON, PROTOBUF, YAML, Form, form_of_errors, negotiate

METADATA = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form(JSON)),
        ("*/*", Form(JSON)),
        (PROTOBUF, Form(PROTOBUF)),
        (f"{PROTOBUF};stream=watch", Form(PROTOBUF)),
        (f"{PROTOBUF}, {JSON}", Form(PROTOBUF)),
        (f"{JSON},{PROTOBUF}", Form(JSON)),
        (f"{PROTOBUF};q=0.2,{JSON};q=0.8", Form(JSON)),
        (f"{JSON};q=0.2,{PROTOBUF};q=0.8", Form(PROTOBUF)),
        (f"*/*,{PROTOBUF}", Form(PROTOBUF)),
        (f"text/html,{YAML},{PROTOBUF}", Form(YAML)),
        (f"{PROTOBUF}{METADATA}", Form(PROTOBUF, "PartialObjectMetadata", "v1")),
        (f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1,{JSON}", Form(JSON)),
    ],
)
def test_a_built_in_kind_comes_in_the_best_form_that_is_accepted(accept: str, form: Form) -> None:
    assert negotiate(accept, custom=False) == form


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (f"{PROTOBUF},{JSON}", Form(JSON)),
        (f"{PROTOBUF},*/*", Form(JSON)),
        (f"{PROTOBUF}{METADATA},{JSON}", Form(PROTOBUF, "PartialObjectMetadata", "v1")),
    ],
)
def test_a_custom_kind_has_no_protobuf_but_of_its_metadata(accept: str, form: Form) -> None:
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
    assert form_of_errors(accept) == media_type
