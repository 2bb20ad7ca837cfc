"""The package generated from definitions: its files, linters and type checkers, and its use."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kinform.api import GVR
from kinform.errors import ConfigError, EncodeError
from kinform.generate._crd import CustomKind, read_files
from kinform.generate._files import write_files
from kinform.generate._package import refuse_built_in, render_package
from tests.support.custom_kinds import ALL

_RULES = "E,F,W,I,B,UP,ASYNC,C4,PIE,PT,RUF,SIM,N,RET"

_USE = """\
from __future__ import annotations

from typing import assert_type

from kinform import blocking
from kinform.informers import (
    Lister,
    ResourceInformer,
    SharedIndexInformer,
    SharedInformerFactory,
)

from mypkg import StableExampleCom
from mypkg.stable_example_com import v1, v1beta1

def use(
    factory: SharedInformerFactory, other: blocking.SharedInformerFactory, tab: v1.CronTab
) -> None:
    stable = StableExampleCom(factory)
    assert_type(stable.v1.cron_tabs.informer, SharedIndexInformer[v1.CronTab])
    assert_type(stable.v1.cron_tabs.lister, Lister[v1.CronTab])
    assert_type(stable.v1beta1.cron_tabs, ResourceInformer[v1beta1.CronTab])
    blocked = StableExampleCom(other).v1.cron_tabs
    assert_type(blocked, blocking.ResourceInformer[v1.CronTab])
    assert_type(tab.spec.replicas, int)
    assert_type(tab.spec.image, str | None)
    assert_type(tab.spec.template, v1.CronTabSpecTemplate | None)
    assert_type(tab.spec.env, dict[str, str])
    v1.CronTab(spec=v1.CronTabSpec(concurrency_policy=v1.CronTabSpecConcurrencyPolicy.FORBID))
"""


def _refuse(message: str) -> None:
    raise AssertionError(message)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package of four groups in it."""
    folder = tmp_path_factory.mktemp("project")
    sources = folder / "crds"
    sources.mkdir()
    for number, text in enumerate(ALL):
        (sources / f"{number}.yaml").write_text(text, encoding="utf-8")
    write_files(folder / "mypkg", render_package(read_files([sources], _refuse), _refuse))
    return folder


def _load(home: Path, path: str) -> ModuleType:
    """One module of it by itself: importing the package would register its kinds for good."""
    name = f"generated_{path.replace('/', '_')}"
    spec = importlib.util.spec_from_file_location(name, home / "mypkg" / f"{path}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def v1(home: Path) -> Any:
    return _load(home, "stable_example_com/v1")


@pytest.fixture(scope="module")
def gateways(home: Path) -> Any:
    return _load(home, "net_example_com/v1alpha1")


@pytest.fixture(scope="module")
def awkward(home: Path) -> Any:
    return _load(home, "awkward_names_example_com/v1")


# -- files and checkers ------------------------------------------------------------------------


def test_there_is_a_module_for_each_group_version(home: Path) -> None:
    folder = home / "mypkg" / "stable_example_com"

    assert sorted(path.name for path in folder.glob("*.py")) == [
        "__init__.py",
        "_informers.py",
        "v1.py",
        "v1beta1.py",
    ]


def _check(home: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=home, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, done.stdout + done.stderr)


def test_ruff_accepts_the_package(home: Path) -> None:
    options = ["--isolated", "--no-cache", "--line-length", "100", "mypkg"]

    _check(home, "ruff", "format", "--check", *options)
    _check(home, "ruff", "check", "--target-version", "py311", "--select", _RULES, *options)


@pytest.mark.timeout(300)
def test_mypy_accepts_the_package_and_infers_every_type(home: Path) -> None:
    (home / "use.py").write_text(_USE, encoding="utf-8")

    _check(home, "mypy", "--config-file=", "--strict", "--cache-dir=.mypy_cache", "use.py", "mypkg")


def test_importing_the_package_registers_its_kinds(home: Path) -> None:
    script = (
        "import mypkg, json\n"
        "from kinform.api import GVK, GVR\n"
        "from kinform.models import model_for\n"
        "found = [model_for(GVR('stable.example.com', 'v1', 'crontabs')),\n"
        "         model_for(GVK('stable.example.com', 'v1beta1', 'CronTab')),\n"
        "         model_for(GVK('awkward-names.example.com', 'v1', 'Model'))]\n"
        "class Factory:\n"
        "    def for_model(self, model): return model\n"
        "asked = mypkg.StableExampleCom(Factory()).v1.cron_tabs\n"
        "print(json.dumps([f'{each.__module__}.{each.__name__}' for each in [*found, asked]]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=home, capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == [
        "mypkg.stable_example_com.v1.CronTab",
        "mypkg.stable_example_com.v1beta1.CronTab",
        "mypkg.awkward_names_example_com.v1.Model2",
        "mypkg.stable_example_com.v1.CronTab",
    ]


# -- objects -----------------------------------------------------------------------------------

TAB: dict[str, Any] = {
    "apiVersion": "stable.example.com/v1",
    "kind": "CronTab",
    "metadata": {"name": "daily", "namespace": "default", "unheardOf": [1]},
    "spec": {
        "cronSpec": "0 0 * * *",
        "replicas": 0,
        "suspend": False,
        "startingDeadlineSeconds": None,
        "novelty": {"deep": [True]},
        "template": {"name": "t", "ports": [{"containerPort": 80, "appProtocol": "h2"}]},
    },
    "status": {"lastScheduleTime": "2024-05-06T07:08:09Z", "phase": "New"},
    "extra": {"top": "level"},
}


def test_a_round_trip_keeps_unknown_fields(v1: Any) -> None:
    tab = v1.CronTab.from_dict(TAB)

    assert tab.spec.cron_spec == "0 0 * * *"
    assert tab.spec.suspend is False
    assert tab.spec.image is None
    assert tab.spec.template.ports[0].container_port == 80
    assert tab.status.last_schedule_time == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert tab.to_dict() == TAB
    assert json.loads(tab.copy().to_bytes()) == TAB


def test_an_edit_changes_nothing_else(v1: Any) -> None:
    tab = v1.CronTab.from_dict(TAB)

    tab.spec.template.ports[0].protocol = v1.CronTabSpecTemplatePortsProtocol.UDP
    tab.spec.image = "busybox"

    wanted = json.loads(json.dumps(TAB))
    wanted["spec"]["image"] = "busybox"
    wanted["spec"]["template"]["ports"][0]["protocol"] = "UDP"
    assert tab.to_dict() == wanted


def test_an_object_is_made_by_keyword_and_absent_is_not_zero(v1: Any) -> None:
    spec = v1.CronTabSpec(cron_spec="* * * * *", suspend=False, env={"A": "b"})
    tab = v1.CronTab(spec=spec)
    tab.metadata.name = "new"

    written = tab.to_dict()

    assert written["metadata"] == {"name": "new"}
    assert written["spec"]["suspend"] is False
    assert written["spec"]["env"] == {"A": "b"}
    assert "image" not in written["spec"]
    assert "status" not in written
    assert tab.status.active is None


def test_types_out_of_the_ordinary_are_read_and_written(gateways: Any) -> None:
    tree = {
        "apiVersion": "net.example.com/v1alpha1",
        "kind": "MeshGateway",
        "metadata": {"name": "edge"},
        "spec": {
            "port": "http",
            "maxUnavailable": 1,
            "weight": 0.5,
            "config": {"any": [{"thing": None}]},
            "anything": [1, "a"],
            "template": {"kind": "Pod"},
            "certificate": "aGVsbG8=",
            "matrix": [[1, 2], [3]],
            "listeners": {"web": [{"host": "a", "new": 1}]},
            "future": "x",
        },
        "status": {"whatever": 1},
    }
    gateway = gateways.MeshGateway.from_dict(tree)

    assert (gateway.spec.port, gateway.spec.max_unavailable) == ("http", 1)
    assert gateway.spec.certificate == b"hello"
    assert gateway.spec.listeners["web"][0].host == "a"
    assert gateway.status == {"whatever": 1}
    assert gateway.to_dict() == tree
    assert gateways.MeshGateway().status == {}


def test_required_top_level_fields_are_written_even_if_zero(gateways: Any) -> None:
    zeros = {"generationLimit": 0, "isPaused": False, "owner": {"name": ""}, "zones": []}
    gateway = gateways.MeshGateway()

    assert gateway.to_dict().items() >= zeros.items()
    assert json.loads(gateway.copy().to_bytes()).items() >= zeros.items()
    assert "comment" not in gateway.to_dict()

    gateway = gateways.MeshGateway(generation_limit=3, owner=gateways.MeshGatewayOwner(name="me"))
    gateway.generation_limit = 0
    assert gateway.to_dict().items() >= {**zeros, "owner": {"name": "me"}}.items()
    with pytest.raises(EncodeError, match="owner takes a MeshGatewayOwner, not a dict"):
        gateways.MeshGateway(owner={"name": "me"})


def test_an_absent_required_field_stays_absent(gateways: Any) -> None:
    tree = {"apiVersion": "net.example.com/v1alpha1", "kind": "MeshGateway", "isPaused": False}
    gateway = gateways.MeshGateway.from_dict(tree)

    assert gateway.generation_limit == 0
    assert gateway.to_dict() == tree


def test_names_invalid_in_python_are_kept_on_the_wire(awkward: Any) -> None:
    names = ["from", "class", "$ref", "404", "str", "copy", "to_dict", "_hidden", "self"]
    names += ["fooBar", "foo_bar", "foo-bar", "clusterIP"]
    tree = {
        "apiVersion": "awkward-names.example.com/v1",
        "kind": "Model",
        "metadata": {"name": "m"},
        "name": "the field, not the object",
        "labels": {"of": "the field"},
        "data": {"a": "aGVsbG8="},
        "spec": {**{name: f"value of {name}" for name in names}, "list": ["a"], "podIPs": ["b"]},
    }
    model = awkward.Model2.from_dict(tree)

    assert (model.name, model.name_) == ("m", "the field, not the object")
    assert model.data == {"a": b"hello"}
    assert model.spec.from_ == "value of from"
    assert (model.spec.foo_bar, model.spec.foo_bar_2) == ("value of foo-bar", "value of fooBar")
    assert model.spec.pod_ips == ["b"]
    assert model.to_dict() == tree
    assert awkward.Model2(spec=model.spec.copy()).to_dict()["spec"] == tree["spec"]


def test_descriptions_are_docstrings_and_never_code(home: Path, awkward: Any) -> None:
    about = "Ends in \\ and quotes: '''"
    assert inspect.getdoc(awkward.Model2) == f"Model (awkward-names.example.com/v1).\n\n{about}"
    folder = home / "mypkg" / "awkward_names_example_com"
    informers = ast.parse((folder / "_informers.py").read_text(encoding="utf-8"))
    texts = [
        ast.get_docstring(each) for each in ast.walk(informers) if isinstance(each, ast.FunctionDef)
    ]
    assert f"Models (awkward-names.example.com/v1).\n\n{about}" in texts
    models = ast.parse((folder / "v1.py").read_text(encoding="utf-8"))
    assert "this" not in [each.name for each in ast.walk(models) if isinstance(each, ast.alias)]
    literals = [each.value for each in ast.walk(models) if isinstance(each, ast.Constant)]
    assert "'''\n    import this\n    ''' \\\n    " in literals


# -- writing -----------------------------------------------------------------------------------


def test_writing_again_replaces_what_was_written(tmp_path: Path) -> None:
    files = {"__init__.py": _generated("one"), "group/v1.py": _generated("two")}
    write_files(tmp_path, files)

    write_files(tmp_path, {**files, "__init__.py": _generated("three")})

    assert (tmp_path / "__init__.py").read_text() == _generated("three")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["__init__.py", "group"]


def _generated(text: str) -> str:
    return f'"""{text}: generated by `kinform generate`; do not edit."""\n'


def test_files_of_earlier_runs_are_removed(tmp_path: Path) -> None:
    package = {"__init__.py": _generated("all")}
    group = {name: _generated(name) for name in ("__init__.py", "_informers.py", "v1.py", "v2.py")}
    here = {f"here/{name}": text for name, text in group.items()}
    write_files(
        tmp_path, {**package, **here, **{f"gone/{name}": text for name, text in group.items()}}
    )
    by_hand = tmp_path / "here" / "by_hand.py"
    by_hand.write_text("precious = 1\n")

    removed = write_files(
        tmp_path, {**package, **{path: text for path, text in here.items() if path != "here/v1.py"}}
    )

    gone = ["gone/__init__.py", "gone/_informers.py", "gone/v1.py", "gone/v2.py"]
    assert removed == [*gone, "here/v1.py"]
    assert not (tmp_path / "gone").exists()
    assert {path.name for path in (tmp_path / "here").iterdir()} == {
        "__init__.py",
        "_informers.py",
        "by_hand.py",
        "v2.py",
    }
    assert by_hand.read_text() == "precious = 1\n"


def test_another_generated_package_inside_is_left_alone(tmp_path: Path) -> None:
    package = {"__init__.py": _generated("a")}
    group = {"group/__init__.py": _generated("c"), "group/_informers.py": _generated("d")}
    write_files(tmp_path / "inner", {**package, **group})

    assert write_files(tmp_path, {**package, **group}) == []
    assert len(list((tmp_path / "inner").rglob("*.py"))) == 3


def test_a_file_written_by_hand_is_not_replaced(
    tmp_path: Path,
) -> None:
    (tmp_path / "group").mkdir()
    mine = tmp_path / "group" / "v1.py"
    mine.write_text("precious = 1\n")

    with pytest.raises(ConfigError, match=r"v1\.py already exists and was not written by"):
        write_files(tmp_path, {"__init__.py": _generated("a"), "group/v1.py": _generated("b")})

    assert mine.read_text() == "precious = 1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["group"]


def test_an_empty_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()

    write_files(tmp_path, {"__init__.py": _generated("a")})

    assert (tmp_path / "__init__.py").read_text() == _generated("a")


def test_an_invalid_folder_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.touch()

    with pytest.raises(ConfigError, match=f"{taken} is a file"):
        write_files(taken, {"__init__.py": _generated("a")})
    with pytest.raises(ConfigError, match=f"cannot write {taken}"):
        write_files(taken / "below", {"__init__.py": _generated("a")})
    with pytest.raises(ConfigError, match="cannot write"):
        write_files(tmp_path, {"taken/v1.py": _generated("a")})


def test_every_file_says_that_it_is_generated(home: Path) -> None:
    files = list((home / "mypkg").rglob("*.py"))

    assert len(files) == 14
    for file in files:
        first = file.read_text(encoding="utf-8").splitlines()[0]
        assert first.endswith('generated by `kinform generate`; do not edit."""')


# -- groups ------------------------------------------------------------------------------------


def _kind(group: str, version: str, plural: str, kind: str, **options: Any) -> CustomKind:
    return CustomKind(GVR(group, version, plural), kind, True, {"type": "object"}, **options)


def test_a_kind_that_cannot_be_watched_has_no_informer() -> None:
    reviews = _kind("auth.example.com", "v1", "reviews", "Review", can_watch=False)
    tokens = _kind("auth.example.com", "v1", "tokens", "Token")

    files = render_package([reviews, tokens], _refuse)

    assert "class Review(" in files["auth_example_com/v1.py"]
    assert "def tokens(" in files["auth_example_com/_informers.py"]
    assert "reviews" not in files["auth_example_com/_informers.py"]


def test_groups_with_equal_module_names_are_distinct() -> None:
    one, two = _kind("a-b.c", "v1", "things", "Thing"), _kind("a.b.c", "v1", "things", "Thing")

    files = render_package([one, two], _refuse)

    assert {"a_b_c/v1.py", "a_b_c_2/v1.py"} <= set(files)
    assert "from .a_b_c._informers import ABC\n" in files["__init__.py"]
    assert "from .a_b_c_2._informers import ABC2\n" in files["__init__.py"]


def test_a_built_in_kind_is_rejected_with_its_module() -> None:
    with pytest.raises(ConfigError, match=r"is built in; import it from kinform\.models\.apps\.v1"):
        refuse_built_in([_kind("apps", "v1", "deployments", "Deployment")])
