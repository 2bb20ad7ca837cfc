"""Selectors of any content print to text that parses to the same, and match as a plain model."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kinform.api import FieldRequirement, FieldSelector, LabelSelector, Operator, Requirement
from kinform.errors import SelectorError

names = st.one_of(
    st.sampled_from(["app", "in", "notin", "exists", "x.y/z", "A_b.c-D"]),
    st.from_regex(r"\A[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?\Z"),
)
values = st.one_of(st.just(""), st.sampled_from(["in", "notin", "1"]), names).filter(
    lambda value: "/" not in value
)
integers = st.integers(0, 2**63 - 1).map(str)


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    operator = draw(st.sampled_from(Operator))
    count = {"exists": (0, 0), "!": (0, 0), "in": (1, 4), "notin": (1, 4)}.get(operator, (1, 1))
    pool = integers if operator in (Operator.GREATER_THAN, Operator.LESS_THAN) else values
    wanted = draw(st.frozensets(pool, min_size=count[0], max_size=count[1]))
    return Requirement(draw(names), operator, wanted)


label_sets = st.dictionaries(names, st.one_of(values, integers), max_size=4)


@given(st.lists(requirements(), max_size=5))
def test_a_label_selector_parses_back_from_its_print(parts: list[Requirement]) -> None:
    selector = LabelSelector(tuple(sorted(parts, key=lambda part: part.key)))
    assert LabelSelector.parse(str(selector)) == selector


@given(st.lists(requirements(), max_size=3), st.sampled_from([" ", "\t", "\n", " \r\n "]))
def test_spaces_between_the_words_change_nothing(parts: list[Requirement], space: str) -> None:
    selector = LabelSelector(tuple(sorted(parts, key=lambda part: part.key)))
    spread = str(selector)
    for mark in (",", "(", ")"):
        spread = spread.replace(mark, f"{space}{mark}{space}")
    assert LabelSelector.parse(spread) == selector


@given(requirements(), label_sets)
def test_a_requirement_and_its_opposite_never_agree_on_one_object(
    requirement: Requirement, labels: dict[str, str]
) -> None:
    opposites = {
        Operator.EQUALS: Operator.NOT_EQUALS,
        Operator.IN: Operator.NOT_IN,
        Operator.EXISTS: Operator.DOES_NOT_EXIST,
    }
    if requirement.operator in opposites:
        opposite = Requirement(requirement.key, opposites[requirement.operator], requirement.values)
        labels_with = labels | dict.fromkeys([requirement.key], "x")
        for sample in (labels, labels_with):
            assert requirement.matches(sample) is not opposite.matches(sample)


@given(names, st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**63 - 1))
def test_order_is_that_of_integers(key: str, actual: int, bound: int) -> None:
    labels = {key: str(actual)}
    assert LabelSelector.parse(f"{key}>{bound}").matches(labels) is (actual > bound)
    assert LabelSelector.parse(f"{key}<{bound}").matches(labels) is (actual < bound)


@given(st.lists(requirements(), max_size=4), label_sets)
def test_a_selector_holds_if_each_of_its_requirements_does(
    parts: list[Requirement], labels: dict[str, str]
) -> None:
    assert LabelSelector(tuple(parts)).matches(labels) is all(
        part.matches(labels) for part in parts
    )


@given(label_sets)
def test_labels_match_the_selector_made_of_them(labels: dict[str, str]) -> None:
    selector = LabelSelector.from_labels(labels)
    assert selector.matches(labels)
    assert LabelSelector.from_match({"matchLabels": labels}) == selector
    assert selector.matches(labels | {"another.example.com/label": "x"})
    for key in labels:
        assert not selector.matches({other: labels[other] for other in labels if other != key})


def complaint_about(form: type[LabelSelector] | type[FieldSelector], text: str) -> str | None:
    try:
        form.parse(text)
    except SelectorError as error:
        return str(error)
    return None


@given(st.text(alphabet="ab1=!(),<>/\\. \tin\x00é", max_size=20))
def test_any_text_is_a_selector_or_a_selector_error(text: str) -> None:
    for form in (LabelSelector, FieldSelector):
        error = complaint_about(form, text)
        if error is None:
            selector = form.parse(text)
            assert form.parse(str(selector)) == selector
        else:
            assert f"{text!r}: " in error
            assert re.search(r"at column [0-9]+$", error)


fields = st.from_regex(r"\A[a-z][A-Za-z0-9.\[\]]{0,20}\Z")


@given(st.lists(st.builds(FieldRequirement, fields, st.text(), st.booleans()), max_size=5))
def test_a_field_selector_parses_back_from_its_print(parts: list[FieldRequirement]) -> None:
    selector = FieldSelector(tuple(sorted(parts, key=str)))
    assert FieldSelector.parse(str(selector)) == selector


@given(st.dictionaries(fields, st.text(), max_size=5))
def test_fields_match_the_selector_made_of_them(wanted: dict[str, str]) -> None:
    selector = FieldSelector.from_fields(wanted)
    assert selector.matches(lambda field: wanted.get(field, ""))
    assert FieldSelector.parse(str(selector)) == selector
    for field in wanted:
        other = wanted | {field: wanted[field] + "x"}
        assert not selector.matches(other.__getitem__)
