"""The differences between built-in kinds, as data.

Resources are named as in a Status: ``pods``, ``deployments.apps``.
"""

from __future__ import annotations

import msgspec

# Kinds whose metadata.generation counts changes of the desired state.
_GENERATION = frozenset(
    [
        "pods",
        "podtemplates",
        "replicationcontrollers",
        "daemonsets.apps",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
        "cronjobs.batch",
        "jobs.batch",
        "horizontalpodautoscalers.autoscaling",
        "ingressclasses.networking.k8s.io",
        "ingresses.networking.k8s.io",
        "networkpolicies.networking.k8s.io",
        "endpointslices.discovery.k8s.io",
        "poddisruptionbudgets.policy",
        "priorityclasses.scheduling.k8s.io",
        "csidrivers.storage.k8s.io",
        "deviceclasses.resource.k8s.io",
        "devicetaintrules.resource.k8s.io",
        "resourceslices.resource.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
    ]
)

# Kinds whose updates must contain the version that they replace.
_CONDITIONAL_UPDATE = frozenset(
    [
        "leases.coordination.k8s.io",
        "leasecandidates.coordination.k8s.io",
        "runtimeclasses.node.k8s.io",
        "poddisruptionbudgets.policy",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "csistoragecapacities.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "clustertrustbundles.certificates.k8s.io",
        "podcertificaterequests.certificates.k8s.io",
        "storageversions.internal.apiserver.k8s.io",
        "storageversionmigrations.storagemigration.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
    ]
)

# Kinds that a PUT creates if they do not exist.
_CREATE_ON_UPDATE = frozenset(
    [
        "endpoints",
        "events",
        "limitranges",
        "services",
        "leases.coordination.k8s.io",
        "leasecandidates.coordination.k8s.io",
        "runtimeclasses.node.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
    ]
)

# Kinds whose deletion returns the object, not a Status.
_DELETE_RETURNS_OBJECT = frozenset(
    [
        "namespaces",
        "persistentvolumes",
        "persistentvolumeclaims",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "storageclasses.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "volumeattributesclasses.storage.k8s.io",
        "deviceclasses.resource.k8s.io",
        "resourceclaims.resource.k8s.io",
        "resourceclaimtemplates.resource.k8s.io",
        "resourceslices.resource.k8s.io",
    ]
)

_ORPHAN_BY_DEFAULT = frozenset({"replicationcontrollers", "jobs.batch"})
_STATUS_KEPT_ON_CREATE = frozenset({"nodes"})
# Kinds whose deletionTimestamp has no grace period.
_UNGRACEFUL = frozenset({"namespaces", "customresourcedefinitions.apiextensions.k8s.io"})

# Kinds whose labels or other metadata a write to /status does not change.
_STATUS_KEEPS_LABELS = frozenset({"deployments.apps"})
_STATUS_KEEPS_METADATA = frozenset(
    [
        "servicecidrs.networking.k8s.io",
        "volumeattachments.storage.k8s.io",
        "resourceclaims.resource.k8s.io",
        "devicetaintrules.resource.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "podcertificaterequests.certificates.k8s.io",
        "storageversions.internal.apiserver.k8s.io",
        "storageversionmigrations.storagemigration.k8s.io",
    ]
)


class ResourceTraits(msgspec.Struct, frozen=True):
    """The behaviour of one resource where resources differ.

    Attributes:
        generation: Whether ``metadata.generation`` is maintained.
        unconditional_update: Whether a PUT may omit the resource version.
        create_on_update: Whether a PUT creates a missing object.
        delete_answers_object: Whether a deletion returns the object.
        orphan_by_default: Whether a deletion orphans dependents by default.
        status_on_create: Whether the status in a POST is kept.
        deletion_grace: Whether ``deletionGracePeriodSeconds`` is set on deletion.
        status_writes_labels: Whether a write to ``/status`` may change labels.
        status_writes_metadata: Whether a write to ``/status`` may change other metadata.
    """

    generation: bool
    unconditional_update: bool
    create_on_update: bool
    delete_returns_object: bool
    orphan_by_default: bool
    status_on_create: bool
    deletion_grace: bool
    status_writes_labels: bool
    status_writes_metadata: bool

    @classmethod
    def of(cls, resource: str) -> ResourceTraits:
        """Return the traits of a built-in resource."""
        return cls(
            generation=resource in _GENERATION,
            unconditional_update=resource not in _CONDITIONAL_UPDATE,
            create_on_update=resource in _CREATE_ON_UPDATE,
            delete_returns_object=resource in _DELETE_RETURNS_OBJECT,
            orphan_by_default=resource in _ORPHAN_BY_DEFAULT,
            status_on_create=resource in _STATUS_KEPT_ON_CREATE,
            deletion_grace=resource not in _UNGRACEFUL,
            status_writes_labels=resource not in _STATUS_KEEPS_LABELS | _STATUS_KEEPS_METADATA,
            status_writes_metadata=resource not in _STATUS_KEEPS_METADATA,
        )

    @classmethod
    def of_custom(cls) -> ResourceTraits:
        """Return the traits of a custom resource."""
        return cls(
            generation=True,
            unconditional_update=False,
            create_on_update=False,
            delete_returns_object=False,
            orphan_by_default=False,
            status_on_create=False,
            deletion_grace=True,
            status_writes_labels=False,
            status_writes_metadata=False,
        )
