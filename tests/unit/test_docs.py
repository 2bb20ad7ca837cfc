"""What the documents say is so: links lead somewhere, code runs, and named proofs exist."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinform.testing import BlockingApiServer

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
IDS = [str(document.relative_to(ROOT)) for document in DOCUMENTS]


def _python_blocks() -> Iterator[tuple[str, str]]:
    for document in DOCUMENTS:
        blocks = re.findall(r"^```python\n(.*?)^```", document.read_text("utf-8"), re.M | re.S)
        for number, block in enumerate(blocks, 1):
            yield f"{document.relative_to(ROOT)} block {number}", block


BLOCKS = list(_python_blocks())


@pytest.mark.parametrize("document", DOCUMENTS, ids=IDS)
def test_every_link_inside_the_project_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", document.read_text("utf-8"))
    inside = [link for link in links if "://" not in link]

    assert [link for link in inside if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=IDS)
def test_every_test_benchmark_and_example_that_is_named_exists(document: Path) -> None:
    named = re.findall(
        r"\b((?:tests|benchmarks|examples)/[\w/*.-]+\.py)", document.read_text("utf-8")
    )

    assert [path for path in named if not list(ROOT.glob(path))] == []


@pytest.mark.parametrize(("name", "block"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_every_block_of_python_is_python_and_imports_what_there_is(name: str, block: str) -> None:
    compile(block, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kinform"):
            module = importlib.import_module(node.module or "")
            assert [name.name for name in node.names if not hasattr(module, name.name)] == []


def test_the_first_program_of_the_readme_runs_as_it_stands(
    kinform_server: BlockingApiServer, tmp_path: Path
) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-0", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    }
    kinform_server.create(pod)
    program = next(block for name, block in BLOCKS if name == "README.md block 2")
    script = tmp_path / "first.py"
    script.write_text(program, "utf-8")
    environment = {
        **os.environ,
        "KUBECONFIG": str(kinform_server.kubeconfig()),
        "PYTHONUNBUFFERED": "1",
    }
    environment.pop("KUBERNETES_SERVICE_HOST", None)
    with subprocess.Popen(
        [sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        try:
            assert run.stdout.readline().split() == ["web-0", "Pending"]
            kinform_server.create({**pod, "metadata": {"name": "other"}})
            kinform_server.create({**pod, "metadata": {"name": "web-1", "labels": {"app": "web"}}})
            assert run.stdout.readline().split() == ["ADDED", "default/web-1"]
        finally:
            run.kill()
