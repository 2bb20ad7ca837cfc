"""Accessors: one set of classes for every factory, with docstrings."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest

from kinform.informers.typed import Group, Groups, accessor
from kinform.models.core.v1 import ConfigMap, Pod


class Recorder(Groups):
    """A factory that returns the models it is asked for."""

    def for_model(self, model: type[Any], /) -> Any:
        return model


class Version(Group[Recorder]):
    @accessor
    def pods(self) -> type[Pod]:
        """Pods."""
        return Pod


def test_an_accessor_passes_its_model_to_the_factory() -> None:
    assert Version(Recorder()).pods is Pod
    assert Recorder().core.v1.config_maps is ConfigMap


def test_an_accessor_cannot_be_assigned() -> None:
    version: Any = Version(Recorder())
    with pytest.raises(AttributeError, match="pods cannot be assigned"):
        version.pods = 1


def test_a_class_has_the_accessor_with_its_docstring() -> None:
    assert isinstance(Version.pods, accessor)
    assert inspect.getdoc(Version.pods) == "Pods."


def test_every_built_in_accessor_says_what_it_is_for() -> None:
    versions = [each for each in Group.__subclasses__() if each.__module__ == Groups.__module__]
    accessors = [each for owner in versions for each in vars(owner).values()]
    texts = [inspect.getdoc(each) or "" for each in accessors if isinstance(each, accessor)]

    assert len(texts) > 90
    assert all(len(text.split("\n\n")) == 2 for text in texts)
    assert (
        "StatefulSets (apps/v1).\n\n"
        "A StatefulSet runs pods with stable names, each with volumes of its own."
    ) in texts


def test_groups_and_versions_load_no_model() -> None:
    program = (
        "import sys\n"
        "from kinform.informers.typed import Groups\n"
        "Groups().core.v1, Groups().apps.v1\n"
        "print([name for name in sys.modules if name.startswith('kinform.models.core.')])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"
