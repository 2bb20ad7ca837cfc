"""The hand-written sentences: one for each kind, and none too many."""

from __future__ import annotations

import pytest

from tools.generate.descriptions import DESCRIPTIONS, STRUCTS, description_of
from tools.generate.modules import Catalogue
from tools.schema.table import load


def test_every_sentence_is_about_an_existing_kind_or_type() -> None:
    catalogue = Catalogue(load())
    kinds = {name for each in catalogue.kinds.values() for name in _keys(each.group, each.kind)}

    assert [key for key in DESCRIPTIONS if key not in kinds] == []
    assert [key for key in STRUCTS if key not in catalogue.structs] == []


def test_a_kind_that_two_groups_have_is_described_by_group() -> None:
    assert description_of("policy", "Eviction") != description_of("lifecycle.k8s.io", "Eviction")
    assert description_of("apps", "Deployment") == description_of("extensions", "Deployment")


def test_a_kind_without_a_sentence_is_named() -> None:
    with pytest.raises(LookupError, match=r"apps Novelty has no sentence in .*descriptions\.py"):
        description_of("apps", "Novelty")


@pytest.mark.parametrize("sentence", [*DESCRIPTIONS.values(), *STRUCTS.values()])
def test_it_is_one_short_sentence(sentence: str) -> None:
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert sentence[0].isupper()
    assert len(sentence) <= 110


def _keys(group: str, kind: str) -> tuple[str, str]:
    return kind, f"{group}/{kind}"
