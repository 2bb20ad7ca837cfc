"""The API reference is up to date, complete, and its links lead somewhere."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import kinform
from kinform import models
from tools.api_reference.pages import OUTPUT, Reference, public_packages

PACKAGES = public_packages()
PAGES = sorted(OUTPUT.glob("*.md"))
GROUPS = [name for name in models.__all__ if isinstance(getattr(models, name), ModuleType)]


@pytest.fixture(scope="module")
def rendered() -> dict[Path, str]:
    return Reference(PACKAGES).files()


def test_pages_are_up_to_date(rendered: dict[Path, str]) -> None:
    """18.25: run `make generate` if this fails."""
    assert {page.name for page in PAGES} == {path.name for path in rendered}
    assert [page.name for page in PAGES if page.read_text("utf-8") != rendered[page]] == []


def test_every_public_package_has_a_page() -> None:
    """18.25: also those that are added later."""
    public = {
        f"kinform.{each.name}"
        for each in pkgutil.iter_modules(kinform.__path__)
        if not each.name.startswith("_")
    }

    assert {"kinform", *public} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_a_description(package: str) -> None:
    """18.25: a docstring, or a string below an alias or a constant."""
    page = (OUTPUT / f"{package}.md").read_text("utf-8")
    names = [
        name
        for name in importlib.import_module(package).__all__
        if package != "kinform.models" or name not in GROUPS
    ]

    described = re.findall(r"^\| \[`(\w+)`\]\(\S+\) \| \S", page, re.M)
    assert sorted(set(names) - set(described)) == []
    assert names


@pytest.mark.parametrize("group", GROUPS)
def test_every_model_is_listed(group: str) -> None:
    """18.25: kinds in a table, all others by name."""
    page = (OUTPUT / "kinform.models.md").read_text("utf-8")
    for version in importlib.import_module(f"kinform.models.{group}").__all__:
        module = importlib.import_module(f"kinform.models.{group}.{version}")
        section = page.split(f"\n## {module.__name__}\n")[1].split("\n## ")[0]
        assert sorted(set(module.__all__) - set(re.findall(r"`(\w+)`", section))) == []


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_links_lead_to_headings(page: Path) -> None:
    """18.25: GitHub derives anchors from headings, in lower case and without dots."""
    links = set(re.findall(r"\[`([\w.]+)`\]\(([\w.]*)#([\w-]*)\)", page.read_text("utf-8")))

    wrong = [
        (name, target, anchor)
        for name, target, anchor in links
        if headings(OUTPUT / (target or page.name)).get(anchor) != name.rpartition(".")[2]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("package", "text"),
    [
        ("kinform.api", "## namespace_key\n\n```python\ndef namespace_key("),
        ("kinform.blocking", "\ndef server_version(self) -> dict[str, Any]: ..."),
        ("kinform.blocking", " -> Watch[T]: ..."),
        ("kinform.client", "\nasync def get(self, resource: type[M], name: str, **options"),
        ("kinform.client", "- [`NotFoundError`](kinform.errors.md#notfounderror): The object"),
        ("kinform.informers", "    metrics: Metrics = NO_METRICS,\n"),
        ("kinform.informers", "### SharedIndexInformer.start\n"),
        ("kinform.informers", "- `has_synced` ([`Latch`](#latch)): Set once"),
        ("kinform.informers", "Also has the members of [`InformerFactory`](#informerfactory)."),
    ],
    ids=[
        "function",
        "blocking method",
        "blocking method that wraps",
        "overloads",
        "link",
        "default as written",
        "inherited from a private class",
        "property",
        "inherited from a public class",
    ],
)
def test_page_contains(package: str, text: str, rendered: dict[Path, str]) -> None:
    """18.25: one example of each form."""
    assert text in rendered[OUTPUT / f"{package}.md"]


def headings(page: Path) -> dict[str, str]:
    """The headings of a page by their anchors; GitHub numbers equal anchors."""
    found: dict[str, str] = {}
    for heading in re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M):
        slug = anchor = heading.lower().replace(".", "")
        number = 0
        while anchor in found:
            number += 1
            anchor = f"{slug}-{number}"
        found[anchor] = heading
    return found
