"""Definitions in files: which kinds they make, and what is said of files that make none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kinform.api import GVR
from kinform.errors import ConfigError
from kinform.generate._crd import kinds_of, read_files
from tests.support.custom_kinds import CERTIFICATE, CRON_TAB, GATEWAY


def _silent(message: str) -> None:
    raise AssertionError(f"nobody should warn: {message}")


def _written(folder: Path, **texts: str) -> list[Path]:
    paths = []
    for name, text in texts.items():
        path = folder / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def test_every_version_of_a_definition_is_a_kind_of_its_own(tmp_path: Path) -> None:
    found = read_files(_written(tmp_path, crontab=CRON_TAB), _silent)

    assert [str(kind) for kind in found] == [
        "stable.example.com/v1 CronTab",
        "stable.example.com/v1beta1 CronTab",
    ]
    assert found[0].gvr == GVR("stable.example.com", "v1", "crontabs")
    assert found[0].namespaced
    assert "cronSpec" in found[0].schema["properties"]["spec"]["properties"]


def test_a_cluster_scoped_kind_is_one(tmp_path: Path) -> None:
    [found] = read_files(_written(tmp_path, gateway=GATEWAY), _silent)

    assert not found.namespaced


def test_a_file_may_hold_several_definitions_and_other_objects(tmp_path: Path) -> None:
    other = "apiVersion: v1\nkind: Namespace\nmetadata: {name: certs}\n"
    text = "\n---\n".join([other, CRON_TAB, "", CERTIFICATE])

    found = read_files(_written(tmp_path, release=text), _silent)

    assert [kind.kind for kind in found] == ["CronTab", "CronTab", "Certificate"]


def test_the_items_of_a_list_are_definitions_too(tmp_path: Path) -> None:
    items = [yaml.safe_load(CRON_TAB), yaml.safe_load(CERTIFICATE)]
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    assert len(read_files([path], _silent)) == 3


def test_a_folder_is_read_down_to_its_leaves_in_order(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    _written(tmp_path, b=CRON_TAB)
    _written(tmp_path / "deep", a=CERTIFICATE)
    (tmp_path / "notes.txt").write_text("{")

    found = read_files([tmp_path], _silent)

    assert [kind.kind for kind in found] == ["CronTab", "CronTab", "Certificate"]


def test_a_version_that_is_not_served_is_left_out_and_named() -> None:
    definition = yaml.safe_load(CRON_TAB)
    definition["spec"]["versions"][1]["served"] = False
    warnings: list[str] = []

    [found] = kinds_of(definition, "here", warnings.append)

    assert found.gvr.version == "v1"
    assert warnings == ["stable.example.com/v1beta1 CronTab: this version is not served; left out"]


def test_a_definition_without_a_schema_is_a_kind_without_one() -> None:
    definition = yaml.safe_load(CRON_TAB)
    del definition["spec"]["versions"][0]["schema"]

    first, _ = kinds_of(definition, "here", _silent)

    assert first.schema == {}


def test_a_kind_that_is_defined_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    paths = _written(tmp_path, one=CRON_TAB, two=CRON_TAB)

    with pytest.raises(ConfigError, match=r"CronTab is defined twice, in .*one\.yaml and in .*two"):
        read_files(paths, _silent)
    with pytest.raises(ConfigError, match=r"defined twice"):
        read_files(_written(tmp_path, both=f"{CRON_TAB}---\n{CRON_TAB}"), _silent)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("spec: [", r"bad\.yaml: line \d+, column \d+: not valid YAML"),
        ("{{ if .Values.crds }}", r"bad\.yaml: .*not valid YAML"),
        ("a: \x00", r"bad\.yaml: not a text file"),
        ("just words", r"bad\.yaml: a document is not a mapping"),
        ("", r"bad\.yaml contains no CustomResourceDefinition$"),
        ("kind: Pod", r"contains no CustomResourceDefinition; it contains Pod"),
        ("a: 1", r"it contains something without a kind"),
    ],
)
def test_a_file_that_holds_no_definition_is_named_with_the_reason(
    text: str, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read_files(_written(tmp_path, bad=text), _silent)


def test_a_path_with_nothing_to_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*absent\.yaml: No such file"):
        read_files([tmp_path / "absent.yaml"], _silent)
    with pytest.raises(ConfigError, match=r"has no files that end in \.yaml"):
        read_files([tmp_path], _silent)


def _without(*path: str | int) -> dict[str, Any]:
    definition: Any = yaml.safe_load(CRON_TAB)
    *steps, last = path
    place = definition
    for step in steps:
        place = place[step]
    del place[last]
    assert isinstance(definition, dict)
    return definition


@pytest.mark.parametrize(
    ("definition", "complaint"),
    [
        (_without("metadata"), "metadata.name is missing"),
        (_without("spec"), "spec.group is missing"),
        (_without("spec", "names", "plural"), "spec.names.plural is missing"),
        (_without("spec", "names", "kind"), "spec.names.kind is missing"),
        (_without("spec", "scope"), "spec.scope is missing"),
        (_without("spec", "versions"), "spec.versions is missing"),
        (_without("spec", "versions", 0, "name"), "spec.versions: name is missing"),
        ({**_without("kind"), "apiVersion": "apiextensions.k8s.io/v1beta1"}, "convert it to"),
        ({**_without("kind"), "apiVersion": None}, "convert it to apiextensions.k8s.io/v1"),
    ],
)
def test_a_broken_definition_is_named_with_what_it_lacks(
    definition: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=f"^here: .*{complaint}"):
        list(kinds_of(definition, "here", _silent))


@pytest.mark.parametrize("versions", [[], ["v1"], {"v1": {}}])
def test_versions_of_another_shape_are_refused(versions: object) -> None:
    definition = yaml.safe_load(CRON_TAB)
    definition["spec"]["versions"] = versions

    with pytest.raises(ConfigError, match=r"crontabs\.stable\.example\.com.*spec\.versions"):
        list(kinds_of(definition, "here", _silent))


def test_names_that_cannot_be_are_refused() -> None:
    definition = yaml.safe_load(CRON_TAB)
    definition["spec"]["names"]["plural"] = "Cron Tabs"

    with pytest.raises(ConfigError, match="'Cron Tabs' cannot be a resource"):
        list(kinds_of(definition, "here", _silent))
