"""The committed models agree with the table, and can be used."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import msgspec
import pytest

from kinform.models import apiextensions, apps, core, meta, networking, resource
from kinform.models._table import KINDS
from kinform.objects import TypedObject
from tools.generate.__main__ import main
from tools.generate.files import MODELS, ROOT, differing, obsolete, rendered
from tools.generate.modules import Catalogue
from tools.schema.table import load

MODULES = sorted({f"kinform.models.{module}" for _, _, module in KINDS})


@pytest.fixture(scope="module")
def files() -> dict[Path, str]:
    return rendered()


def structs(module: ModuleType) -> Iterator[type[msgspec.Struct]]:
    for each in vars(module).values():
        is_struct = isinstance(each, type) and issubclass(each, msgspec.Struct)
        if is_struct and each.__module__ == module.__name__:
            yield each


# -- the files -----------------------------------------------------------------------------------


def test_generated_files_are_up_to_date(files: dict[Path, str]) -> None:
    assert [str(path.relative_to(ROOT)) for path in differing(files)] == []
    assert obsolete(files) == []


def test_the_same_table_gives_the_same_bytes(files: dict[Path, str]) -> None:
    assert rendered(load()) == files


def test_a_file_that_differs_is_named(
    files: dict[Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = {**files, MODELS / "core" / "v1.py": "something else"}
    del changed[MODELS / "apps" / "v1.py"]
    monkeypatch.setattr("tools.generate.__main__.rendered", lambda: changed)
    assert main(["--check"]) == 1
    complaint = capsys.readouterr().err
    assert "src/kinform/models/core/v1.py" in complaint
    assert "src/kinform/models/apps/v1.py" in complaint
    assert "meta" not in complaint


# -- the modules ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODULES)
def test_every_type_of_a_module_can_be_resolved_and_made(name: str) -> None:
    module = import_module(name)
    for struct in structs(module):
        assert get_type_hints(struct).keys() >= set(struct.__struct_fields__)
        assert struct() == struct()
    assert sorted(module.__all__) == sorted(
        each
        for each, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == name
    )


@pytest.mark.parametrize("name", MODULES)
def test_every_class_of_a_module_says_what_it_is(name: str) -> None:
    module = import_module(name)
    assert [each for each in module.__all__ if "__doc__" not in vars(getattr(module, each))] == []
    assert [each for each in module.__all__ if not getattr(module, each).__doc__] == []


def test_docstrings_name_the_kind_or_the_fields_that_use_the_type() -> None:
    # Python 3.13 removes the indentation itself.
    assert cleandoc(apps.v1.Deployment.__doc__ or "") == (
        "Deployment (apps/v1).\n\nA Deployment keeps equal pods running and replaces them "
        "gradually when their template changes."
    )
    assert apps.v1.DeploymentSpec.__doc__ == "The spec of a Deployment."
    assert core.v1.Lifecycle.__doc__ == (
        "Used in Container.lifecycle and EphemeralContainer.lifecycle."
    )
    assert core.v1.PodPhase.__doc__ == "Values of PodStatus.phase."
    assert apps.v1.StatefulSetOrdinals.__doc__ == "Used in StatefulSetSpec.ordinals."


def test_every_field_of_the_table_has_its_name_on_the_wire() -> None:
    catalogue = Catalogue(load())
    checked = 0
    for id_ in catalogue.structs:
        package, _, name = id_.rpartition(".")
        struct = getattr(import_module(f"kinform.models.{package.replace('/', '.')}"), name)
        wire = [field.json for field in catalogue.fields(id_)]
        assert list(struct.__struct_encode_fields__) == wire, id_
        checked += 1
    for id_ in catalogue.kinds:
        package, _, name = id_.rpartition(".")
        kind = getattr(import_module(f"kinform.models.{package.replace('/', '.')}"), name)
        assert list(kind.parts) == [field.json for field in catalogue.fields(id_)], id_
        checked += 1
    assert checked > 600


def test_every_resource_of_the_table_has_a_kind() -> None:
    known = {
        (group, version, plural): (kind, namespaced)
        for (group, version, _), kinds in KINDS.items()
        for kind, (plural, namespaced) in kinds.items()
        if plural
    }
    for row in load().resources:
        assert known[row.group, row.version, row.plural] == (row.kind, row.namespaced)


@pytest.mark.parametrize(("place", "kinds"), KINDS.items(), ids=lambda each: str(each)[:40])
def test_every_kind_is_an_object_of_its_own(
    place: tuple[str, str, str], kinds: dict[str, tuple[str, bool]]
) -> None:
    group, version, module = place
    for name, (plural, namespaced) in kinds.items():
        kind = getattr(import_module(f"kinform.models.{module}"), name)
        assert issubclass(kind, TypedObject)
        assert kind().to_dict() == {"apiVersion": kind.class_gvk.api_version, "kind": name}
        if plural:
            assert kind.resource is not None
            found = kind.resource.gvr
            assert (found.group, found.version, found.resource) == (group, version, plural)
            assert kind.resource.namespaced is namespaced
        else:
            assert kind.resource is None


def test_lists_and_query_parameters_have_no_models() -> None:
    assert not hasattr(core.v1, "PodList")
    assert not hasattr(meta.v1, "ListOptions")
    assert not hasattr(meta.v1, "TypeMeta")
    assert hasattr(meta.v1, "DeleteOptions")


# -- loading -------------------------------------------------------------------------------------


def loaded_after(statement: str) -> list[str]:
    program = (
        f"import sys, json\n{statement}\n"
        "print(json.dumps([m for m in sys.modules if m.startswith('kinform.models.')]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    names = json.loads(ran.stdout)
    return sorted(name.removeprefix("kinform.models.") for name in names if name.count(".") > 2)


@pytest.mark.parametrize(
    ("statement", "modules"),
    [
        ("import kinform", []),
        ("import kinform.models", []),
        ("import kinform.models.core", []),
        ("import kinform.models.core.v1", ["core.v1", "meta.v1"]),
        ("import kinform.models; kinform.models.core.v1.Pod", ["core.v1", "meta.v1"]),
        ("from kinform.models.rbac.v1 import Role", ["meta.v1", "rbac.v1"]),
        (
            "from kinform.api import GVR; from kinform.models import model_for; "
            "model_for(GVR('apps', 'v1', 'deployments'))",
            ["apps.v1", "core.v1", "meta.v1"],
        ),
        ("from kinform.models import known_kinds; known_kinds()", []),
    ],
)
def test_only_requested_modules_are_loaded(statement: str, modules: list[str]) -> None:
    assert loaded_after(statement) == modules


def test_a_group_that_is_not_there_is_an_attribute_error() -> None:
    import kinform.models

    with pytest.raises(AttributeError, match=r"kinform\.models.*'apss'"):
        kinform.models.apss  # type: ignore[attr-defined]  # noqa: B018  # that is the point
    assert "apps" in dir(kinform.models)
    assert "v1" in dir(kinform.models.apps)


# -- fields that users know ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("struct", "attribute", "wire", "annotation", "zero"),
    [
        (core.v1.PodSpec, "node_name", "nodeName", "str", ""),
        (core.v1.PodSpec, "containers", "containers", "list[Container]", []),
        (core.v1.PodSpec, "host_ipc", "hostIPC", "bool", False),
        (core.v1.PodSpec, "node_selector", "nodeSelector", "dict[str, str]", {}),
        (core.v1.PodSpec, "priority", "priority", "int | None", None),
        (core.v1.PodStatus, "pod_ips", "podIPs", "list[PodIP]", []),
        (core.v1.PodStatus, "phase", "phase", "str", ""),
        (core.v1.PodStatus, "start_time", "startTime", "datetime | None", None),
        (core.v1.ServiceSpec, "cluster_ip", "clusterIP", "str", ""),
        (core.v1.ServicePort, "target_port", "targetPort", "int | str", 0),
        (
            core.v1.Container,
            "resources",
            "resources",
            "ResourceRequirements",
            core.v1.ResourceRequirements(),
        ),
        (core.v1.ResourceRequirements, "limits", "limits", "dict[str, Quantity]", {}),
        (core.v1.EmptyDirVolumeSource, "size_limit", "sizeLimit", "Quantity | None", None),
        (core.v1.Volume, "empty_dir", "emptyDir", "EmptyDirVolumeSource | None", None),
        (core.v1.Probe, "http_get", "httpGet", "HTTPGetAction | None", None),
        (core.v1.PersistentVolumeSpec, "nfs", "nfs", "NFSVolumeSource | None", None),
        (core.v1.SecretKeySelector, "name", "name", "str", ""),
        (core.v1.EphemeralContainer, "image", "image", "str", ""),
        (
            networking.v1.NetworkPolicyIngressRule,
            "from_",
            "from",
            "list[NetworkPolicyPeer]",
            [],
        ),
        (networking.v1.IPBlock, "except_", "except", "list[str]", []),
        (meta.v1.ListMeta, "continue_", "continue", "str", ""),
        (meta.v1.ManagedFieldsEntry, "fields_v1", "fieldsV1", "FieldsV1", msgspec.Raw()),
        (
            apps.v1.RollingUpdateDeployment,
            "max_surge",
            "maxSurge",
            "int | str | None",
            None,
        ),
        (
            apps.v1.StatefulSetSpec,
            "volume_claim_templates",
            "volumeClaimTemplates",
            "list[core_v1.PersistentVolumeClaim]",
            [],
        ),
        (
            apiextensions.v1.JSONSchemaProps,
            "not_",
            "not",
            "JSONSchemaProps | None",
            None,
        ),
        (
            apiextensions.v1.JSONSchemaProps,
            "x_kubernetes_int_or_string",
            "x-kubernetes-int-or-string",
            "bool",
            False,
        ),
        (
            apiextensions.v1.JSONSchemaProps,
            "additional_properties",
            "additionalProperties",
            "JSONSchemaProps | bool | None",
            None,
        ),
        (
            apiextensions.v1.JSONSchemaProps,
            "items",
            "items",
            "JSONSchemaProps | list[JSONSchemaProps] | None",
            None,
        ),
        (apiextensions.v1.JSONSchemaProps, "default", "default", "Any", None),
        (apiextensions.v1.JSONSchemaProps, "enum", "enum", "list[Any]", []),
        (
            apiextensions.v1.JSONSchemaProps,
            "dependencies",
            "dependencies",
            "dict[str, JSONSchemaProps | list[str]]",
            {},
        ),
        (resource.v1.DeviceAttribute, "int_", "int", "int | None", None),
    ],
)
def test_a_field_is_what_a_user_expects(
    struct: type[msgspec.Struct], attribute: str, wire: str, annotation: str, zero: object
) -> None:
    names = dict(zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True))
    assert names[attribute] == wire
    assert struct.__annotations__[attribute] == annotation
    assert getattr(struct(), attribute) == zero


def test_a_part_of_a_kind_is_what_a_user_expects() -> None:
    secret = core.v1.Secret(data={"password": b"hunter2"}, type="Opaque", immutable=True)
    assert secret.to_dict() == {
        "apiVersion": "v1",
        "kind": "Secret",
        "data": {"password": "aHVudGVyMg=="},
        "type": "Opaque",
        "immutable": True,
    }
    empty = core.v1.Secret()
    assert (empty.data, empty.type, empty.immutable) == ({}, "", None)
    assert empty.metadata == meta.v1.ObjectMeta()
    assert core.v1.Event().event_time is None


def test_enums_are_constants_and_fields_accept_other_values() -> None:
    effects = [str(effect) for effect in core.v1.TaintEffect]
    assert effects == ["NoExecute", "NoSchedule", "PreferNoSchedule"]
    assert core.v1.PodPhase.RUNNING.value == "Running"
    status: Any = core.v1.PodStatus.from_dict({"phase": "Hibernating"})
    assert status.phase == "Hibernating"
