"""``kinform generate``: what it writes, what it says, and what it exits with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kinform.cli import main
from kinform.testing import BlockingApiServer
from tests.support.custom_kinds import CERTIFICATE, CRON_TAB

_WITHOUT_TYPE = CRON_TAB.replace("image: {type: string}", "image: {anyOf: [{type: string}]}")


@pytest.fixture
def crd(tmp_path: Path) -> Path:
    path = tmp_path / "crontab.yaml"
    path.write_text(CRON_TAB, encoding="utf-8")
    return path


def test_definitions_become_a_package_and_one_line_says_of_what(
    crd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = tmp_path / "more"
    more.mkdir()
    (more / "certificate.yml").write_text(CERTIFICATE, encoding="utf-8")
    out = tmp_path / "mypkg"

    assert main(["generate", "--crd", str(crd), "--crd", str(more), "--out", str(out)]) == 0

    said = capsys.readouterr()
    assert said.err == ""
    assert said.out == (
        f"{out}: 8 files for stable.example.com/v1 CronTab, "
        "stable.example.com/v1beta1 CronTab, certs.example.com/v1 Certificate\n"
    )
    assert "class CronTab(" in (out / "stable_example_com" / "v1.py").read_text("utf-8")
    assert len(list(out.rglob("*.py"))) == 8


def test_the_same_definitions_give_the_same_package(crd: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        assert main(["generate", "--crd", str(crd), "--out", str(folder)]) == 0
        assert main(["generate", "--crd", str(crd), "--out", str(folder)]) == 0

    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.py")}
        for folder in folders
    )
    assert one == two


def test_a_version_that_is_gone_leaves_the_package_and_is_named(
    crd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mypkg"
    assert main(["generate", "--crd", str(crd), "--out", str(out)]) == 0
    definition = yaml.safe_load(CRON_TAB)
    definition["spec"]["versions"].pop()
    crd.write_text(yaml.safe_dump(definition), encoding="utf-8")
    capsys.readouterr()

    assert main(["generate", "--crd", str(crd), "--out", str(out)]) == 0

    assert capsys.readouterr().out == (
        f"{out}: 4 files for stable.example.com/v1 CronTab\n"
        f"{out}: removed files of an earlier run: stable_example_com/v1beta1.py\n"
    )
    assert not (out / "stable_example_com" / "v1beta1.py").exists()


def test_a_package_that_nobody_could_import_is_refused(
    crd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("my-pkg", "class"):
        assert main(["generate", "--crd", str(crd), "--out", str(tmp_path / name)]) == 2
        assert f"{name!r} is not a name that Python can import" in capsys.readouterr().err
        assert not (tmp_path / name).exists()


def test_what_is_typed_as_any_is_a_warning_and_no_failure(
    crd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crd.write_text(_WITHOUT_TYPE, encoding="utf-8")

    assert main(["generate", "--crd", str(crd), "--out", str(tmp_path / "mypkg")]) == 0

    assert capsys.readouterr().err == (
        "warning: stable.example.com/v1 CronTab spec.image: anyOf without a type; typed as Any\n"
    )


def test_a_file_in_the_way_is_one_line_and_one(
    crd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mypkg" / "__init__.py"
    mine.parent.mkdir()
    mine.write_text("import this\n")

    assert main(["generate", "--crd", str(crd), "--out", str(mine.parent)]) == 1

    assert capsys.readouterr().err == (
        f"kinform: {mine} already exists and was not written by `kinform generate`; "
        "move it, or choose another folder\n"
    )
    assert list(mine.parent.iterdir()) == [mine]


def test_a_file_that_is_no_definition_leaves_nothing_behind(
    crd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crd.write_text("kind: Pod\n")
    out = tmp_path / "mypkg"

    assert main(["generate", "--crd", str(crd), "--out", str(out)]) == 1

    assert "contains no CustomResourceDefinition; it contains Pod" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "arguments are required: --out"),
        (["--out", "x"], "one of the arguments --crd --from-cluster is required"),
        (["--crd", "a.yaml"], "arguments are required: --out"),
        (["--crd", "a", "--from-cluster", "b/v1", "--out", "x"], "not allowed with argument"),
        (["--crd", "a", "--context", "b", "--out", "x"], "require --from-cluster"),
    ],
    ids=" ".join,
)
def test_arguments_that_make_no_sense_exit_with_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", *arguments]) == 2

    assert message in capsys.readouterr().err


# -- from a cluster ----------------------------------------------------------------------------


def _from_cluster(server: BlockingApiServer, group_version: str, out: Path) -> int:
    kubeconfig = str(server.kubeconfig())
    return main(
        ["generate", "--from-cluster", group_version, "--kubeconfig", kubeconfig, "--out", str(out)]
    )


def test_a_group_version_of_a_cluster_is_what_its_definition_says(
    kinform_server: BlockingApiServer, crd: Path, tmp_path: Path
) -> None:
    kinform_server.create(yaml.safe_load(CRON_TAB))

    assert _from_cluster(kinform_server, "stable.example.com/v1", tmp_path / "a") == 0
    assert main(["generate", "--crd", str(crd), "--out", str(tmp_path / "b")]) == 0

    files = [tmp_path / name / "stable_example_com" / "v1.py" for name in ("a", "b")]
    assert files[0].read_text("utf-8") == files[1].read_text("utf-8")
    assert not (tmp_path / "a" / "stable_example_com" / "v1beta1.py").exists()


def test_a_misspelt_group_version_is_answered_with_the_nearest(
    kinform_server: BlockingApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinform_server.create(yaml.safe_load(CRON_TAB))

    assert _from_cluster(kinform_server, "stable.exmaple.com/v1", tmp_path / "a") == 1
    assert "no stable.exmaple.com/v1; did you mean stable.example.com/v1" in capsys.readouterr().err
    assert _from_cluster(kinform_server, "stable.example.com/v2", tmp_path / "a") == 1
    assert "stable.example.com/v1 or stable.example.com/v1beta1?" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


def test_a_cluster_that_describes_no_schemas_is_answered_with_the_way_out(
    kinform_server: BlockingApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _from_cluster(kinform_server, "apps/v1", tmp_path / "a") == 1

    assert "has no schemas at /openapi/v3/apis/apps/v1 (404)" in capsys.readouterr().err


def test_a_kubeconfig_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "kubeconfig"
    arguments = ["--from-cluster", "a.b/v1", "--kubeconfig", str(missing), "--out", str(tmp_path)]

    assert main(["generate", *arguments]) == 1
    assert str(missing) in capsys.readouterr().err


def test_the_command_is_not_loaded_for_help() -> None:
    script = (
        "import sys; from kinform.cli import main; main(['generate', '--help']);"
        "sys.exit(any(name.startswith('kinform.generate') for name in sys.modules))"
    )

    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)
