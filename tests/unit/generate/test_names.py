"""Names as schemas have them become names as Python has them."""

from __future__ import annotations

import keyword

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinform.generate._names import (
    attribute_name,
    class_name,
    distinct,
    is_camel_of,
    member_name,
    module_name,
    plural_name,
    snake_case,
)
from kinform.objects import Model, TypedObject


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("name", "name"),
        ("nodeName", "node_name"),
        ("clusterIP", "cluster_ip"),
        ("clusterIPs", "cluster_ips"),
        ("podIPs", "pod_ips"),
        ("hostIPC", "host_ipc"),
        ("externalIPs", "external_ips"),
        ("nonResourceURLs", "non_resource_urls"),
        ("serverAddressByClientCIDRs", "server_address_by_client_cidrs"),
        ("insecureSkipTLSVerify", "insecure_skip_tls_verify"),
        ("setHostnameAsFQDN", "set_hostname_as_fqdn"),
        ("fieldsV1", "fields_v1"),
        ("openAPIV3Schema", "open_api_v3_schema"),
        ("stubPKCS10Request", "stub_pkcs10_request"),
        ("IPBlock", "ip_block"),
        ("CSIDriver", "csi_driver"),
        ("podIPv4Address", "pod_ipv4_address"),
        ("x-kubernetes-int-or-string", "x_kubernetes_int_or_string"),
        ("$ref", "ref"),
        ("already_snake", "already_snake"),
        ("Port", "port"),
        ("scaleIO", "scale_io"),
        ("_private", "private"),
    ],
)
def test_words_are_split_where_a_reader_splits_them(name: str, snake: str) -> None:
    assert snake_case(name) == snake


@pytest.mark.parametrize(
    ("json", "attribute"),
    [
        ("from", "from_"),
        ("continue", "continue_"),
        ("not", "not_"),
        ("except", "except_"),
        ("int", "int_"),
        ("dict", "dict_"),
        ("datetime", "datetime_"),
        ("copy", "copy_"),
        ("toDict", "to_dict_"),
        ("2d", "field_2d"),
        ("größe", "gr_e"),
        ("✂", "field"),
        ("type", "type"),
        ("match", "match"),
    ],
)
def test_an_attribute_never_hides_what_python_or_the_class_needs(json: str, attribute: str) -> None:
    assert attribute_name(json) == attribute


@pytest.mark.parametrize("name", ["key", "name", "namespace", "labels", "kind", "apiVersion"])
def test_what_only_whole_objects_have_is_free_in_their_parts(name: str) -> None:
    assert attribute_name(name) == snake_case(name)
    assert attribute_name(name, of_kind=True) == f"{snake_case(name)}_"


def test_every_public_name_of_the_base_classes_is_kept_clear_of() -> None:
    for name in (each for each in dir(TypedObject) if not each.startswith("_")):
        assert attribute_name(name, of_kind=True) != name
    for name in (each for each in dir(Model) if not each.startswith("_")):
        assert attribute_name(name) != name


@given(st.text())
def test_whatever_the_name_the_attribute_is_one(name: str) -> None:
    attribute = attribute_name(name)
    assert attribute.isidentifier()
    assert not keyword.iskeyword(attribute)
    assert not attribute.startswith("_")


@given(st.from_regex(r"[a-z][A-Za-z0-9]{0,12}", fullmatch=True))
def test_a_name_that_needs_no_renaming_is_one_that_msgspec_gives_back(json: str) -> None:
    attribute = attribute_name(json)
    struct = msgspec.defstruct("Struct", [(attribute, int, 0)], rename="camel")
    if is_camel_of(json, attribute):
        assert struct.__struct_encode_fields__ == (json,)


@pytest.mark.parametrize("json", ["nodeName", "fieldsV1", "from", "tty", "awsElasticBlockStore"])
def test_an_everyday_name_needs_no_renaming(json: str) -> None:
    assert is_camel_of(json, attribute_name(json))


@pytest.mark.parametrize("json", ["clusterIP", "$ref", "Port", "x-kubernetes-list-type"])
def test_a_name_that_cannot_be_derived_is_told(json: str) -> None:
    assert not is_camel_of(json, attribute_name(json))


@pytest.mark.parametrize(
    ("kind", "plural", "name"),
    [
        ("Pod", "pods", "pods"),
        ("StatefulSet", "statefulsets", "stateful_sets"),
        ("HorizontalPodAutoscaler", "horizontalpodautoscalers", "horizontal_pod_autoscalers"),
        ("Endpoints", "endpoints", "endpoints"),
        ("EndpointSlice", "endpointslices", "endpoint_slices"),
        ("CSIDriver", "csidrivers", "csi_drivers"),
        ("NetworkPolicy", "networkpolicies", "network_policies"),
        ("IngressClass", "ingressclasses", "ingress_classes"),
        ("ServiceCIDR", "servicecidrs", "service_cidrs"),
        ("CronTab", "crontabs", "cron_tabs"),
        ("VirtualMouse", "virtualmice", "virtual_mice"),
        ("Ox", "oxen", "oxen"),
        ("BigOx", "cattle", "cattle"),
        ("Kind", "my-kinds", "my_kinds"),
        ("Raise", "raise", "raise_"),
    ],
)
def test_a_plural_has_the_words_of_its_kind(kind: str, plural: str, name: str) -> None:
    assert plural_name(kind, plural) == name


@pytest.mark.parametrize(
    ("value", "member"),
    [
        ("Failed", "FAILED"),
        ("NoSchedule", "NO_SCHEDULE"),
        ("", "EMPTY"),
        ("*", "ALL"),
        ("IPv4", "IPV4"),
        ("HTTP2", "HTTP2"),
        ("s/mime", "S_MIME"),
        ("client auth", "CLIENT_AUTH"),
        ("SIGRTMIN+1", "SIGRTMIN_PLUS_1"),
        ("SIGRTMAX-1", "SIGRTMAX_1"),
        ("1.5", "VALUE_1_5"),
        ("✂", "VALUE"),
    ],
)
def test_a_constant_says_its_value(value: str, member: str) -> None:
    assert member_name(value) == member


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("v1alpha1", "v1alpha1"),
        ("cert-manager.io", "cert_manager_io"),
        ("3scale.net", "v3scale_net"),
        ("class", "class_"),
    ],
)
def test_a_group_or_a_version_becomes_a_module(name: str, module: str) -> None:
    assert module_name(name) == module


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("podTemplate", "PodTemplate"),
        ("my-kind", "MyKind"),
        ("JSONSchemaProps", "JSONSchemaProps"),
        ("2d", "Struct2d"),
        ("", "Struct"),
        ("None", "None_"),
    ],
)
def test_a_class_keeps_its_capitals(name: str, found: str) -> None:
    assert class_name(name) == found


def test_names_that_come_twice_are_told_apart() -> None:
    assert distinct(["a", "b", "a", "a"]) == ["a", "b", "a_2", "a_3"]
    assert distinct(["a", "a", "a_2"]) == ["a", "a_2", "a_2_2"]
    assert distinct(["from_", "from_"]) == ["from_", "from_2"]
