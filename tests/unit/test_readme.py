"""18.26: the README begins with installation and status, and its claims lead to their proof."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def anchors(document: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", document.read_text("utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    plain = [re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings]
    # A repeated heading gets a number.
    counts = [plain[:place].count(each) for place, each in enumerate(plain)]
    return {f"{each}-{n}" if n else each for each, n in zip(plain, counts, strict=True)}


def test_install_and_status_follow_the_first_sentence() -> None:
    """18.26: before anything else."""
    title, sentence, install, status, *_ = re.split(r"\n\n(?!\s)", README)

    assert title == "# kinform"
    assert re.fullmatch(r"\*\*.+\*\*", sentence)
    assert install.startswith("```\npip install")
    assert status.startswith("> **Status.**")


def test_kubeconfigs_are_not_written_to_shared_folders() -> None:
    """18.20: others could put a link there, or read what the server is."""
    for document in DOCUMENTS:
        paths = re.findall(r"--kubeconfig[ =](\S+)", document.read_text("utf-8"))
        assert not [path for path in paths if path.startswith(("/tmp", "/var/tmp", "/dev/shm"))]
    assert "--kubeconfig ./kinform.yaml" in README


def test_faithful_leads_to_the_table_of_differences() -> None:
    """18.26: a claim with its limits."""
    found = re.search(r"\[faithful\]\(([^)#]+)#([^)]+)\)", README)
    assert found is not None
    heading, _, table = (ROOT / found[1]).read_text("utf-8").partition("### Differences from")

    assert heading
    assert found[2] == "differences-from-kube-apiserver"
    assert "| | kube-apiserver | embedded |" in table


def test_demo_section_shows_the_proof() -> None:
    """18.26: with lines of real output, whose format the tests of the demo check."""
    demo = README.partition("## Demo")[2].partition("\n## ")[0]

    assert "resets the connections of 3 watches" in demo
    assert "Nothing was lost:" in demo
    assert re.search(r"0 lost, 0 repeated\n", demo)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_headings_lead_to_one(document: Path) -> None:
    """18.26: an anchor that a heading no longer has is found here."""
    links = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", document.read_text("utf-8"))
    inside = [(path, anchor) for path, anchor in links if "://" not in path]

    def leads_somewhere(path: str, anchor: str) -> bool:
        return anchor in anchors(document.parent / path if path else document)

    assert [link for link in inside if not leads_somewhere(*link)] == []
