"""Messages written by hand, byte by byte, and the trees that a server's JSON has for them.

Made without the code under test: numbers and types are those of Go's protobuf tags.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kinform.api import GVK


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def put(number: int, *values: int | str | bytes) -> bytes:
    """Field ``number``: a number or a bool, a text, or a message. Several are a list."""
    written = b""
    for value in values:
        if isinstance(value, int):
            written += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            written += varint(number << 3 | 2) + varint(len(data)) + data
    return written


def entry(number: int, key: str, value: str | bytes) -> bytes:
    """One entry of a map."""
    return put(number, put(1, key) + put(2, value))


def envelope(
    api_version: str, kind: str, raw: bytes, *, encoding: str = "", type: str = ""
) -> bytes:
    about = put(1, api_version) + put(2, kind)
    return b"k8s\0" + put(1, about) + put(2, raw) + put(3, encoding) + put(4, type)


def event(type: str, body: bytes) -> bytes:
    """One event of a watch, with its length in front."""
    frame = put(1, type) + put(2, put(1, body))
    return len(frame).to_bytes(4, "big") + frame


def list_of(*items: bytes, version: str = "10", token: str = "") -> bytes:
    metadata = put(1, "") + put(2, version) + put(3, token)
    return put(1, metadata) + put(2, *items)


def status(code: int, reason: str, message: str) -> bytes:
    about = put(1, "") + put(2, "") + put(3, "")
    raw = put(1, about) + put(2, "Failure") + put(3, message) + put(4, reason) + put(6, code)
    return envelope("v1", "Status", raw)


class Sample(NamedTuple):
    """One object in both forms."""

    gvk: GVK
    message: bytes
    tree: dict[str, Any]

    @property
    def body(self) -> bytes:
        return envelope(self.gvk.api_version, self.gvk.kind, self.message)


def metadata(name: str, *, namespace: str = "default", rv: str = "7", more: bytes = b"") -> bytes:
    """As Go writes it: what is no pointer is there, empty or not."""
    return (
        put(1, name)
        + put(2, "")
        + put(3, namespace)
        + put(4, "")
        + put(5, f"uid-{name}")
        + put(6, rv)
        + put(7, 0)
        + put(8, put(1, 1767323045) + put(2, 0))
        + more
    )


def metadata_tree(name: str, *, namespace: str = "default", rv: str = "7") -> dict[str, Any]:
    tree = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "resourceVersion": rv,
        "creationTimestamp": "2026-01-02T03:04:05Z",
    }
    return {key: value for key, value in tree.items() if value}


def config_map(name: str, *, rv: str = "7", labels: dict[str, str] | None = None) -> bytes:
    """The message of a small object."""
    more = b"".join(entry(11, key, value) for key, value in (labels or {}).items())
    return put(1, metadata(name, rv=rv, more=more)) + entry(2, "k", "v")


_OWNER = put(1, "ReplicaSet") + put(3, "web") + put(4, "uid-web") + put(5, "apps/v1") + put(6, 1)
_MANAGED = (
    put(1, "kubectl")
    + put(2, "Update")
    + put(3, "v1")
    + put(4, put(1, 1767323045))
    + put(6, "FieldsV1")
    + put(7, put(1, '{"f:spec":{"f:replicas":{}}}'))
    + put(8, "")
)
_PROBE = (
    # The handler is inlined in JSON, and a message here; its port is a text.
    put(1, put(2, put(1, "/") + put(2, put(1, 1) + put(2, 0) + put(3, "http")) + put(4, "HTTP")))
    + put(2, 0)
    + put(3, 1)
)
_CONTAINER = (
    put(1, "main")
    + put(2, "web:1")
    + put(5, "")
    + put(6, put(1, "http") + put(2, 0) + put(3, 80) + put(4, "TCP"))
    + put(7, put(1, "EMPTY") + put(2, ""))
    + put(8, entry(1, "cpu", put(1, "500m")) + entry(1, "memory", put(1, "64Mi")))
    + put(11, _PROBE)
    + put(15, put(4, 0) + put(5, 0))
    + put(16, 0)
)
_VOLUME = put(1, "scratch") + put(2, put(2, put(1, "")))

POD = Sample(
    GVK("", "v1", "Pod"),
    put(
        1,
        metadata(
            "web-0",
            more=put(9, put(1, 1767323046))
            + entry(11, "app", "web")
            + entry(12, "note", "")
            + put(13, _OWNER)
            + put(14, "wait")
            + put(17, _MANAGED),
        ),
    )
    + put(2, put(1, _VOLUME) + put(2, _CONTAINER) + put(3, "Always") + put(4, 0) + put(10, "n1"))
    + put(3, put(1, "Running") + put(7, put(1, 1767323047) + put(2, 0))),
    {
        "metadata": {
            **metadata_tree("web-0"),
            "deletionTimestamp": "2026-01-02T03:04:06Z",
            "labels": {"app": "web"},
            "annotations": {"note": ""},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web",
                    "uid": "uid-web",
                    "controller": True,
                }
            ],
            "finalizers": ["wait"],
            "managedFields": [
                {
                    "manager": "kubectl",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "2026-01-02T03:04:05Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {"f:replicas": {}}},
                }
            ],
        },
        "spec": {
            "volumes": [{"name": "scratch", "emptyDir": {}}],
            "containers": [
                {
                    "name": "main",
                    "image": "web:1",
                    "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
                    "env": [{"name": "EMPTY"}],
                    "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}},
                    "readinessProbe": {
                        "httpGet": {"path": "/", "port": "http", "scheme": "HTTP"},
                        "timeoutSeconds": 1,
                    },
                    # Pointers: zero is not absent.
                    "securityContext": {"runAsUser": 0, "runAsNonRoot": False},
                }
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 0,
            "nodeName": "n1",
        },
        "status": {"phase": "Running", "startTime": "2026-01-02T03:04:07Z"},
    },
)

LEASE = Sample(
    GVK("coordination.k8s.io", "v1", "Lease"),
    put(1, metadata("a"))
    + put(2, put(1, "me") + put(3, b"") + put(4, put(1, 1767323045) + put(2, 6007000))),
    {
        "metadata": metadata_tree("a"),
        # A pointer to Go's zero time is null; times of leases have microseconds.
        "spec": {
            "holderIdentity": "me",
            "acquireTime": None,
            "renewTime": "2026-01-02T03:04:05.006007Z",
        },
    },
)

_CLAIM = (
    put(1, put(1, "data") + put(8, b""))
    + put(2, put(1, "ReadWriteOnce") + put(2, entry(2, "storage", put(1, "1Gi"))))
    + put(3, put(1, ""))
)
STATEFUL_SET = Sample(
    GVK("apps", "v1", "StatefulSet"),
    put(1, metadata("db"))
    + put(
        2,
        put(1, 0)
        + put(2, entry(1, "app", "db"))
        + put(3, put(1, put(8, b"")) + put(2, put(2, put(1, "main"))))
        + put(4, _CLAIM)
        + put(5, "db"),
    )
    + put(3, put(1, 0) + put(2, 0)),
    {
        "metadata": metadata_tree("db"),
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {},
                "spec": {"containers": [{"name": "main", "resources": {}}]},
            },
            "volumeClaimTemplates": [
                {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "metadata": {"name": "data"},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1Gi"}},
                    },
                    "status": {},
                }
            ],
            "serviceName": "db",
            "updateStrategy": {},
        },
        "status": {"replicas": 0, "availableReplicas": 0},
    },
)

REVISION = Sample(
    GVK("apps", "v1", "ControllerRevision"),
    put(1, metadata("db-1")) + put(2, put(1, '{"spec":{"a":[1,null,"x"]}}')) + put(3, 3),
    {
        "metadata": metadata_tree("db-1"),
        "data": {"spec": {"a": [1, None, "x"]}},
        "revision": 3,
    },
)

SIGNING_REQUEST = Sample(
    GVK("certificates.k8s.io", "v1", "CertificateSigningRequest"),
    put(1, metadata("c", namespace=""))
    + put(2, put(1, b"") + put(2, "me") + entry(6, "scopes", put(1, "a", "")) + put(7, "x/y")),
    {
        "metadata": metadata_tree("c", namespace=""),
        "spec": {
            "request": "",
            "signerName": "x/y",
            "username": "me",
            "extra": {"scopes": ["a", ""]},
        },
        "status": {},
    },
)

SECRET = Sample(
    GVK("", "v1", "Secret"),
    put(1, metadata("s")) + entry(2, "a", b"\x00\xff") + entry(2, "b", b"") + put(5, 0),
    {"metadata": metadata_tree("s"), "data": {"a": "AP8=", "b": ""}, "immutable": False},
)

_FLOAT = b"\x49\x00\x00\x00\x00\x00\x00\x24\x40"  # field 9: 10.0


def _typed(name: str) -> bytes:
    return put(5, name)


_SCHEMA = (
    _typed("object")
    + put(8, put(1, '{"a":1}'))
    + _FLOAT
    + put(20, put(1, '"x"'), put(1, "7"))
    + put(24, put(1, _typed("string")))
    + put(25, put(24, put(2, _typed("integer"), _typed("number"))))
    + entry(29, "any", put(30, put(1, 1) + put(2, _typed("string"))))
    + entry(29, "none", put(30, put(1, 0)))
    + entry(32, "of-schema", put(1, _typed("null")))
    + entry(32, "of-texts", put(2, "a", "b"))
    + put(38, 1)
)
_NAMES = put(1, "things") + put(2, "") + put(4, "Thing") + put(5, "")
DEFINITION = Sample(
    GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    put(1, metadata("things.example.com", namespace=""))
    + put(
        2,
        put(1, "example.com")
        + put(3, _NAMES)
        + put(4, "Namespaced")
        + put(7, put(1, "v1") + put(2, 1) + put(3, 1) + put(4, put(1, _SCHEMA)) + put(7, 0))
        + put(10, 0),
    )
    + put(3, put(2, put(1, "") + put(2, "") + put(4, "") + put(5, ""))),
    {
        "metadata": metadata_tree("things.example.com", namespace=""),
        "spec": {
            "group": "example.com",
            "names": {"plural": "things", "kind": "Thing"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "default": {"a": 1},
                            "maximum": 10,
                            "enum": ["x", 7],
                            "items": {"type": "string"},
                            "allOf": [{"items": [{"type": "integer"}, {"type": "number"}]}],
                            "properties": {
                                "any": {"additionalProperties": {"type": "string"}},
                                "none": {"additionalProperties": False},
                            },
                            "dependencies": {"of-schema": {"type": "null"}, "of-texts": ["a", "b"]},
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
        # Lists that Go never leaves out are null if they are empty.
        "status": {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": None,
        },
    },
)

SAMPLES = (DEFINITION, POD, LEASE, STATEFUL_SET, REVISION, SIGNING_REQUEST, SECRET)
