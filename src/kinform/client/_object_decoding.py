"""Decodes the object in a response."""

from __future__ import annotations

from typing import TypeVar

from kinform.api import GVK
from kinform.client._requester import Answer
from kinform.errors import DecodeError
from kinform.models import model_for
from kinform.objects import Handle, PartialObjectMetadata, TypedObject

T = TypeVar("T", bound=Handle)


def read_answer(answer: Answer, form: type[T], *, what: str) -> T:
    """Decode the object in the response to ``what``.

    Raises:
        DecodeError: There is no object, or it is of another kind than ``form``.
    """
    try:
        record = answer.wire.read_object(answer.body)
        if issubclass(form, PartialObjectMetadata):
            record = record.only_metadata()
    except DecodeError as error:
        raise DecodeError(f"{what}: the response is {error}") from error.__cause__
    if issubclass(form, TypedObject) and record.gvk != form.class_gvk:
        raise DecodeError(
            f"{what}: the response is {record.gvk}, not {form.class_gvk}; {_right_form(record.gvk)}"
        )
    return form.over(record)


def confirms_success(answer: Answer) -> bool:
    """Whether the response only confirms success, with a Status or an empty body."""
    if not answer.body:
        return True
    try:
        return answer.wire.read_status(answer.body).kind == "Status"
    except DecodeError:
        return False


def _right_form(gvk: GVK) -> str:
    """Return a hint on how to request an object of this kind."""
    model = model_for(gvk)
    if model is None:
        return "pass form=Unstructured to read it"
    return f"pass form={model.__name__} to read it ({model.__module__}.{model.__name__})"
