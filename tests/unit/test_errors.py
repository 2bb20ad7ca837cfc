"""The error tree is the one that its docstring draws, and its members carry what they promise."""

from __future__ import annotations

import copy
import inspect
import pickle
import re

import pytest

from kinform import errors
from kinform.errors import (
    ApiError,
    ConflictError,
    EncodeError,
    ExpiredError,
    InvalidError,
    InvalidNameError,
    KinformError,
    NotFoundError,
    ReadOnlyError,
    SelectorError,
    TooManyRequestsError,
)

_INDENT = "    "


def drawn_tree() -> dict[str, str | None]:
    """Name to parent, as the lines of the module's docstring draw it."""
    parents: dict[str, str | None] = {}
    ancestors: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(rf"{_INDENT}(?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w*Error)\b", line)
        if found is None:
            continue
        depth = len(found["branch"]) // 3
        del ancestors[depth:]
        assert len(ancestors) == depth, f"{found['name']} hangs in the air"
        parents[found["name"]] = ancestors[-1] if ancestors else None
        ancestors.append(found["name"])
    return parents


def actual_tree() -> dict[str, str | None]:
    tree: dict[str, str | None] = {"KinformError": None}
    pending = [KinformError]
    while pending:
        parent = pending.pop()
        for child in parent.__subclasses__():
            if child.__module__ == errors.__name__:
                tree[child.__name__] = parent.__name__
                pending.append(child)
    return tree


def api_error_classes() -> list[type[ApiError]]:
    classes = [getattr(errors, name) for name in errors.__all__]
    return [cls for cls in classes if issubclass(cls, ApiError)]


def test_the_drawn_tree_is_the_actual_tree() -> None:
    assert drawn_tree() == actual_tree()


def test_every_error_of_the_tree_is_exported() -> None:
    assert set(errors.__all__) == set(actual_tree())


def test_every_drawn_status_code_is_in_the_docstring_of_its_class() -> None:
    drawn = re.findall(r"([A-Z]\w*Error) +([45](?:\d\d|xx))\b", errors.__doc__ or "")
    assert len(drawn) >= 13
    for name, code in drawn:
        assert (inspect.getdoc(getattr(errors, name)) or "").startswith(f"{code}:")


@pytest.mark.parametrize(
    ("ours", "builtin"),
    [
        (InvalidNameError, ValueError),
        (SelectorError, ValueError),
        (ReadOnlyError, TypeError),
        (EncodeError, TypeError),
    ],
)
def test_a_mistake_in_an_argument_is_also_the_builtin_that_python_users_expect(
    ours: type[KinformError], builtin: type[Exception]
) -> None:
    assert issubclass(ours, builtin)


def test_an_api_error_prints_message_code_and_reason() -> None:
    assert str(NotFoundError('pods "a" not found', code=404, reason="NotFound")) == (
        'pods "a" not found (404 NotFound)'
    )
    assert str(ApiError("teapot", code=418)) == "teapot (418)"


def test_an_api_error_without_a_message_says_so() -> None:
    assert str(ApiError("", code=502)) == "no message (502)"


def test_an_api_error_without_details_has_empty_ones() -> None:
    error = ApiError("no", code=400)
    assert (error.reason, error.details, error.metadata, error.retry_after) == ("", {}, {}, None)
    assert error.causes == ()


def test_the_causes_of_an_invalid_object_come_out_one_by_one() -> None:
    cause = {"field": "spec.replicas", "reason": "FieldValueInvalid", "message": "must be >= 0"}
    error = InvalidError("invalid", code=422, details={"causes": [cause]})
    assert error.causes == (cause,)


@pytest.mark.parametrize("causes", [None, "text", 7, {"field": "x"}, ["text", None]])
def test_causes_that_are_none_are_left_out(causes: object) -> None:
    assert InvalidError("invalid", code=422, details={"causes": causes}).causes == ()


def test_an_expired_list_offers_the_token_to_go_on_with() -> None:
    fresh = ExpiredError("too old", code=410, metadata={"continue": "abc"})
    assert fresh.continue_token == "abc"
    assert ExpiredError("too old", code=410).continue_token == ""


@pytest.mark.parametrize("cls", api_error_classes())
def test_an_api_error_survives_a_process_boundary_and_a_copy(cls: type[ApiError]) -> None:
    error = cls(
        "slow down",
        code=429,
        reason="TooManyRequests",
        details={"kind": "pods"},
        retry_after=1.5,
        metadata={"continue": "x"},
    )
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is cls
        assert vars(twin) == vars(error)
        assert str(twin) == str(error)


def test_notes_on_an_error_travel_with_it() -> None:
    error = TooManyRequestsError("slow down", code=429)
    error.add_note("while listing pods")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["while listing pods"]


def test_a_conflict_and_a_taken_name_are_told_apart() -> None:
    assert not issubclass(ConflictError, errors.AlreadyExistsError)
    assert not issubclass(errors.AlreadyExistsError, ConflictError)
