"""The benchmark kit runs and prints what it promises; what it measures is not judged here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).parents[2] / "benchmarks" / "run.py"


def _run(*options: str, cache: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, RUN, f"--results={cache / 'results'}", *options],
        # An empty cache: no peers, and so no other speed than on anybody's machine.
        env={"KINFORM_CACHE": str(cache), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_quick_run_prints_a_table_with_targets_and_keeps_the_figures(tmp_path: Path) -> None:
    done = _run("--quick", "--server=static", "--only", "ingest,import", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [line.strip() for line in done.stdout.splitlines()]
    assert any(row.startswith("kinform, framing and head") for row in rows)
    assert any(row.startswith("import kinform") for row in rows)
    assert sum(row.startswith("target: ") for row in rows) == 2
    assert len(list((tmp_path / "results").glob("*.json"))) == 1


def test_a_quick_run_without_peers_says_so_and_measures_the_rest(tmp_path: Path) -> None:
    done = _run("--quick", "--server=static", "--only", "watch", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "without peers: " in done.stderr
    rows = {line.split("  ")[1]: line.split() for line in done.stdout.splitlines() if "  " in line}
    assert rows["kinform"][-1] == "1.00"
    assert rows["official client"][-1] == "-"


def test_an_unknown_scenario_is_refused_with_the_names_of_those_there_are(tmp_path: Path) -> None:
    done = _run("--only", "lists", cache=tmp_path)
    assert done.returncode == 2
    assert "no scenario lists; there are list, watch, ingest, import" in done.stderr
