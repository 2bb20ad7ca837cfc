"""The benchmark kit runs and prints what it promises; what it measures is not judged here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.contest import Contender, Metric, Outcome, Scenario, Target
from benchmarks.conversation import ContenderFailedError, Conversation, Record, questions, talk
from benchmarks.peer_programs import (
    CLIENT_GO,
    CONTROLLER_RUNTIME,
    KUBE_RS,
    OFFICIAL,
    available_peers,
)
from benchmarks.report import table

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
    assert "no scenario lists; there are list, watch, ingest, import, sync, steady" in done.stderr


def test_changes_cannot_be_steady_without_a_real_server(tmp_path: Path) -> None:
    done = _run("--quick", "--server=static", "--only", "steady,import", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "without steady: this scenario requires --server=real" in done.stderr
    assert "import: one import" in done.stdout


def test_faults_are_left_out_without_a_real_server(tmp_path: Path) -> None:
    done = _run("--quick", "--only", "faults,import", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "without faults: kube-apiserver is required" in done.stderr
    assert "import: one import" in done.stdout


def test_unknown_fault_scenario_is_refused_with_the_known_names(tmp_path: Path) -> None:
    done = _run("--only", "faults", "--scenarios", "calm,storm", cache=tmp_path)
    assert done.returncode == 2
    assert "no fault scenario storm; there are calm, resets-1s" in done.stderr


def test_a_peer_without_its_toolchain_is_left_out_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KINFORM_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert available_peers([CLIENT_GO, CONTROLLER_RUNTIME, KUBE_RS], install=True) == {}
    said = capsys.readouterr().err
    assert "without peers: controller-runtime requires `go`, which is not installed" in said
    assert "without peers: client-go requires `go`, which is not installed" in said
    assert "without peers: kube-rs requires `cargo`, which is not installed" in said


def test_a_peer_that_is_not_there_is_not_made_in_a_hurry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KINFORM_CACHE", str(tmp_path))
    assert available_peers([OFFICIAL, CLIENT_GO, KUBE_RS], install=False) == {}
    assert capsys.readouterr().err.count("run without --quick") == 3
    assert list(tmp_path.iterdir()) == []


# Gets ready, and counts as a change each line between `go` and `stop`.
_PHASED = """
import json
print("synced", flush=True)
assert input() == "go"
print(json.dumps({"objects": 1, "delays": [int(word) for word in iter(input, "stop")]}))
"""


def test_a_contender_is_led_through_its_phases_and_its_delays_are_summed_up() -> None:
    def drive(contender: Conversation) -> None:
        for word in ("go", *map(str, reversed(range(200))), "stop"):
            contender.say(word)

    record = talk("phased", [sys.executable, "-c", _PHASED], "", drive)
    assert record == {"objects": 1, "events": 200, "p50": 100, "p99": 198, "latest": 199}


@pytest.mark.parametrize("is_ready", [True, False])
def test_a_contender_that_dies_is_quoted(is_ready: bool) -> None:
    program = f"print('synced' if {is_ready} else '', flush=True); raise SystemExit('no server')"

    def drive(contender: Conversation) -> None:
        assert is_ready
        for _ in range(100_000):
            contender.say("go")

    with pytest.raises(ContenderFailedError, match=r"(?s)dying failed:.*no server"):
        talk("dying", [sys.executable, "-c", program], "", drive)


# Answers each question with the question.
_ECHO = """
import sys
for line in sys.stdin:
    print(line, end="", flush=True)
"""


def test_questions_are_answered_one_by_one() -> None:
    with questions("echo", [sys.executable, "-c", _ECHO]) as echo:
        assert echo.ask("get", name="a") == {"do": "get", "name": "a"}
        assert echo.ask("list") == {"do": "list"}


def test_a_program_that_ends_instead_of_answering_is_quoted() -> None:
    program = "input(); raise SystemExit('no such kind')"
    with questions("ending", [sys.executable, "-c", program]) as ending:
        for _ in range(2):
            with pytest.raises(ContenderFailedError, match=r"(?s)ending failed:.*no such kind"):
                ending.ask("get", name="a" * 100_000)


def test_targets_beside_others_are_judged_by_share() -> None:
    figure = Metric("s", lambda record: float(record["s"]), 1)
    scenario = Scenario(
        name="race",
        title="two of them",
        contenders=[Contender(name, None, "") for name in ("ours", "theirs", "absent")],
        metrics=[figure],
        targets=[
            Target("at most half", figure, 0.5, of="theirs"),
            Target("at most a tenth", figure, 0.1, of="theirs"),
            Target("less than nobody", figure, 1.0, of="absent"),
        ],
    )
    records: dict[str, list[Record]] = {"ours": [{"s": 4}], "theirs": [{"s": 10}]}
    lines = table(Outcome(scenario, records)).splitlines()
    assert [line.strip().removeprefix("target: ") for line in lines if "target" in line] == [
        "at most half; reached 0.40: met",
        "at most a tenth; reached 0.40: NOT MET",
        "less than nobody; not measured",
    ]


def test_several_names_stand_for_the_mean_of_all_but_the_extremes() -> None:
    figure = Metric("s", lambda record: float(record["s"]), 1)
    target = Target("half", figure, 0.5, of=("theirs", "absent"), whose=("ours", "others"))
    contenders = [Contender(name, None, "") for name in ("ours", "others", "theirs", "absent")]
    scenario = Scenario("race", "teams", contenders, [figure], [target])
    records: dict[str, list[Record]] = {
        "ours": [{"s": 1}, {"s": 5}],
        "others": [{"s": 3}],
        "theirs": [{"s": 10}, {"s": 2}],
        "absent": [{}],
    }
    assert Outcome(scenario, records).reached(target) == 0.5
    # Once of many times the server was busy with something else.
    records["ours"] += [{"s": 0}, {"s": 100}, {"s": 3}]
    assert Outcome(scenario, records).reached(target) == 0.5
    unmeasured: dict[str, list[Record]] = {"ours": [{}], "theirs": [{"s": 1}]}
    assert Outcome(scenario, unmeasured).reached(target) is None
