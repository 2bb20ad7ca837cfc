"""The walk through the architecture page: a watch event, step by step."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import kinform
from tests.support.call_recorder import calls_of_an_event

PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text("utf-8")
SOURCE = Path(kinform.__file__).parent


def steps() -> list[tuple[str, str]]:
    """Return the file and the function of each step of the walk."""
    section = PAGE.partition("## A watch event, step by step\n")[2].partition("\n## ")[0]
    return re.findall(r"^\|.*\| `([\w/.]+\.py)` \| `([\w.]+)` \|$", section, re.M)


def test_walk_has_a_row_for_every_stage() -> None:
    stages = {Path(file).parts[-2] for file, _ in steps()}
    assert stages >= {"transport", "client", "reflector", "store", "dispatch"}
    for file, _ in steps():
        assert (SOURCE / file).is_file(), file


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer changes what is called")
async def test_walk_names_the_functions_that_an_event_passes_in_their_order() -> None:
    called = [
        (Path(call.file).relative_to(SOURCE).as_posix(), call.function)
        for call in await calls_of_an_event()
        if Path(call.file).is_relative_to(SOURCE)
    ]
    position = 0
    for step in steps():
        assert step in called[position:], f"{step} is not called here; see {called[position:]}"
        position = called.index(step, position) + 1


def test_answers_for_newcomers_name_files_and_functions_that_exist() -> None:
    page = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8")
    section = page.partition("## Where is …?\n")[2].partition("\n## ")[0]
    answers = re.findall(r"^\| (?!question|---)(.*?) \| (.*?) \|$", section, re.M)
    assert len(answers) >= 10
    for question, answer in answers:
        code = re.findall(r"`([\w/.]+)`", answer)
        folder, text = SOURCE, ""
        for name in code:
            if name.endswith(".py"):
                path = SOURCE / name if "/" in name else folder / name
                assert path.is_file(), f"{question}: {name}"
                folder, text = path.parent, path.read_text("utf-8")
            else:
                defined = re.search(rf"(class|def) {name.split('.')[-1]}\b", text)
                assert defined, f"{question}: {name}"
