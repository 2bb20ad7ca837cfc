"""One sentence about each built-in kind, written for kinform and not copied from Kubernetes.

The keys are kinds. Where two groups use the same name for different things, the key is
``group/Kind``. A test checks that every kind has a sentence and every sentence a kind.
"""

from __future__ import annotations

DESCRIPTIONS = {
    # core
    "Binding": "A Binding assigns a pod to a node; the scheduler posts one for each pod it places.",
    "ComponentStatus": "A ComponentStatus reports whether a part of the control plane responds.",
    "ConfigMap": "A ConfigMap holds configuration as text or bytes, for pods to read.",
    "Endpoints": (
        "An Endpoints object lists the addresses behind a Service; EndpointSlice replaces it."
    ),
    "Event": "An Event records that something happened to an object, and how often.",
    "LimitRange": "A LimitRange sets defaults and bounds for the resources of pods in a namespace.",
    "Namespace": "A Namespace divides a cluster; names of namespaced objects are unique within it.",
    "Node": "A Node is a machine that runs pods.",
    "NodeProxyOptions": "NodeProxyOptions are the query parameters of a request proxied to a node.",
    "PersistentVolume": (
        "A PersistentVolume is storage of the cluster that outlives the pods using it."
    ),
    "PersistentVolumeClaim": "A PersistentVolumeClaim requests storage and is bound to a volume.",
    "Pod": "A Pod is one or more containers that run together on one node and share its network.",
    "PodAttachOptions": "PodAttachOptions are the query parameters for attaching to a container.",
    "PodExecOptions": (
        "PodExecOptions are the query parameters for running a command in a container."
    ),
    "PodLogOptions": "PodLogOptions are the query parameters for reading the log of a container.",
    "PodPortForwardOptions": "PodPortForwardOptions are the query parameters for forwarding ports.",
    "PodProxyOptions": "PodProxyOptions are the query parameters of a request proxied to a pod.",
    "PodTemplate": "A PodTemplate stores a pod to copy, with its labels and spec.",
    "RangeAllocation": "A RangeAllocation records the numbers or addresses taken from a range.",
    "ReplicationController": (
        "A ReplicationController keeps a number of equal pods running; Deployment and ReplicaSet "
        "replace it."
    ),
    "ResourceQuota": (
        "A ResourceQuota limits how much of each resource a namespace may use in total."
    ),
    "Secret": "A Secret holds small confidential values such as passwords, tokens and keys.",
    "SerializedReference": (
        "A SerializedReference wraps a reference to an object, to store it as text."
    ),
    "Service": "A Service gives a set of pods one stable name and address.",
    "ServiceAccount": "A ServiceAccount is the identity under which pods call the API.",
    "ServiceProxyOptions": (
        "ServiceProxyOptions are the query parameters of a request proxied to a service."
    ),
    # meta
    "APIGroup": "An APIGroup lists the versions of one API group, with the preferred one.",
    "APIVersions": "APIVersions lists the versions of the core group.",
    "DeleteOptions": "DeleteOptions control a deletion: grace period, preconditions, dependents.",
    "Status": "A Status is the result of a request that returns no object, usually an error.",
    "Table": "A Table is a list prepared for display, with columns chosen by the server.",
    # admissionregistration
    "MutatingAdmissionPolicy": (
        "A MutatingAdmissionPolicy changes objects on admission, as written in CEL."
    ),
    "MutatingAdmissionPolicyBinding": (
        "A MutatingAdmissionPolicyBinding puts a mutating policy into effect, with parameters, "
        "for some objects."
    ),
    "MutatingWebhookConfiguration": (
        "A MutatingWebhookConfiguration lists webhooks that may change objects on admission."
    ),
    "ValidatingAdmissionPolicy": (
        "A ValidatingAdmissionPolicy accepts or rejects requests by CEL expressions."
    ),
    "ValidatingAdmissionPolicyBinding": (
        "A ValidatingAdmissionPolicyBinding puts a validating policy into effect, with "
        "parameters, for some objects."
    ),
    "ValidatingWebhookConfiguration": (
        "A ValidatingWebhookConfiguration lists webhooks that accept or reject requests."
    ),
    # apiextensions, apiregistration, internal
    "ConversionReview": (
        "A ConversionReview asks a webhook to convert custom objects to another version."
    ),
    "CustomResourceDefinition": (
        "A CustomResourceDefinition adds a kind to the API, with its versions and schemas."
    ),
    "APIService": "An APIService names the server that serves a group and version.",
    "StorageVersion": (
        "A StorageVersion lists the version in which each API server stores a resource."
    ),
    # apps
    "ControllerRevision": (
        "A ControllerRevision is a past state of a controller's template, kept for rollbacks."
    ),
    "DaemonSet": "A DaemonSet runs one copy of a pod on every node that matches.",
    "Deployment": (
        "A Deployment keeps equal pods running and replaces them gradually when their template "
        "changes."
    ),
    "ReplicaSet": (
        "A ReplicaSet keeps a number of equal pods running; a Deployment usually manages it."
    ),
    "StatefulSet": "A StatefulSet runs pods with stable names, each with volumes of its own.",
    # authentication
    "SelfSubjectReview": (
        "A SelfSubjectReview returns the user that the server sees for the request."
    ),
    "TokenRequest": "A TokenRequest asks for a short-lived token of a service account.",
    "TokenReview": "A TokenReview asks the server whether a token is valid, and whose it is.",
    # authorization
    "LocalSubjectAccessReview": (
        "A LocalSubjectAccessReview asks whether a user may do something in one namespace."
    ),
    "SelfSubjectAccessReview": (
        "A SelfSubjectAccessReview asks whether the caller may do something."
    ),
    "SelfSubjectRulesReview": (
        "A SelfSubjectRulesReview lists what the caller may do in a namespace."
    ),
    "SubjectAccessReview": "A SubjectAccessReview asks whether a user may do something.",
    # autoscaling
    "HorizontalPodAutoscaler": (
        "A HorizontalPodAutoscaler adjusts a number of replicas to the load."
    ),
    "Scale": "A Scale is the number of replicas of any object that can be scaled.",
    # batch
    "CronJob": "A CronJob creates a Job at the times of a schedule.",
    "Job": "A Job runs pods until enough of them have succeeded.",
    # certificates
    "CertificateSigningRequest": (
        "A CertificateSigningRequest asks a signer for an X.509 certificate."
    ),
    "ClusterTrustBundle": "A ClusterTrustBundle publishes root certificates to the whole cluster.",
    "PodCertificateRequest": (
        "A PodCertificateRequest asks a signer for a certificate that identifies a pod."
    ),
    # coordination
    "Lease": "A Lease records which process holds a role, and until when; leader election uses it.",
    "LeaseCandidate": "A LeaseCandidate announces a process that may become the holder of a Lease.",
    # discovery, events
    "EndpointSlice": "An EndpointSlice lists some of the addresses and ports behind a Service.",
    # extensions
    "DeploymentRollback": (
        "A DeploymentRollback asks for the return of a Deployment to an earlier revision."
    ),
    # flowcontrol
    "FlowSchema": "A FlowSchema assigns requests to a priority level, by user and resource.",
    "PriorityLevelConfiguration": (
        "A PriorityLevelConfiguration limits the concurrent requests of a priority level."
    ),
    # lifecycle, policy
    "lifecycle.k8s.io/Eviction": (
        "An Eviction tracks the removal of a pod and the components that respond to it."
    ),
    "EvictionRequest": (
        "An EvictionRequest asks for the eviction of a pod, or withdraws that request."
    ),
    "policy/Eviction": (
        "An Eviction asks for the removal of a pod if its disruption budgets allow it."
    ),
    "PodDisruptionBudget": "A PodDisruptionBudget limits how many pods may be evicted at a time.",
    # networking
    "IPAddress": "An IPAddress records that an address is in use, and by which object.",
    "Ingress": "An Ingress routes HTTP requests from outside to Services, by host and path.",
    "IngressClass": "An IngressClass names the controller that implements Ingresses.",
    "NetworkPolicy": "A NetworkPolicy restricts the connections that pods may accept and open.",
    "ServiceCIDR": "A ServiceCIDR is a range from which Services receive their addresses.",
    # node
    "RuntimeClass": "A RuntimeClass selects the container runtime for pods, and its overhead.",
    # rbac
    "ClusterRole": "A ClusterRole is a set of permissions for the cluster or for all namespaces.",
    "ClusterRoleBinding": (
        "A ClusterRoleBinding grants a ClusterRole to subjects, in all namespaces."
    ),
    "Role": "A Role is a set of permissions in one namespace.",
    "RoleBinding": "A RoleBinding grants a Role or ClusterRole to subjects, in one namespace.",
    # resource
    "DeviceClass": "A DeviceClass is a category of devices that claims can ask for by name.",
    "DeviceTaintRule": "A DeviceTaintRule adds a taint to all devices that match.",
    "ResourceClaim": "A ResourceClaim requests devices, and records those that were allocated.",
    "ResourceClaimTemplate": "A ResourceClaimTemplate is copied to a ResourceClaim for each pod.",
    "ResourcePoolStatusRequest": (
        "A ResourcePoolStatusRequest asks how many devices of a driver's pools are in use."
    ),
    "ResourceSlice": "A ResourceSlice lists devices that a driver offers, on one node or several.",
    # scheduling
    "CompositePodGroup": "A CompositePodGroup schedules several groups of pods as one unit.",
    "PodGroup": "A PodGroup schedules pods together, for example all or none of them.",
    "PriorityClass": "A PriorityClass gives a name to a priority of pods.",
    "Workload": "A Workload describes the groups of pods of one application to the scheduler.",
    # storage, storagemigration
    "CSIDriver": "A CSIDriver describes what a storage driver is capable of.",
    "CSINode": "A CSINode lists the storage drivers installed on a node.",
    "CSIStorageCapacity": "A CSIStorageCapacity reports the free storage of a class in one place.",
    "StorageClass": "A StorageClass describes how volumes of one sort are created.",
    "VolumeAttachment": "A VolumeAttachment asks for a volume to be attached to a node.",
    "VolumeAttributesClass": (
        "A VolumeAttributesClass names settings of volumes that can be changed later."
    ),
    "StorageVersionMigration": (
        "A StorageVersionMigration rewrites all stored objects of a resource in its current "
        "version."
    ),
}

# Of the nested types, those that are used so widely that a list of uses says little.
STRUCTS = {
    "core/v1.Container": "A container of a pod: its image, command, environment and resources.",
    "core/v1.LocalObjectReference": "The name of an object in the same namespace.",
    "core/v1.NodeSelector": "Selects nodes by labels and fields; one of the terms must match.",
    "core/v1.ObjectReference": "Points to an object by kind, namespace, name and UID.",
    "core/v1.PodTemplateSpec": "The pod that a controller creates copies of: metadata and spec.",
    "core/v1.Probe": "A check that the kubelet runs against a container, and how often.",
    "core/v1.ResourceRequirements": "The CPU, memory and other resources a container needs.",
    "core/v1.SecretReference": "The name and the namespace of a Secret.",
    "core/v1.Toleration": "Allows a pod on nodes with matching taints.",
    "core/v1.Volume": "A volume of a pod; exactly one of its sources is set.",
    "meta/v1.Condition": "One aspect of the state of an object: true, false or unknown, and why.",
    "meta/v1.LabelSelector": "Selects objects by labels; all requirements must match.",
    "meta/v1.ListMeta": "The metadata of a list: its resource version and how to continue.",
    "meta/v1.ManagedFieldsEntry": "The fields of an object that one manager has set.",
    "meta/v1.ObjectMeta": "The metadata of an object: name, namespace, labels, owners and more.",
    "meta/v1.OwnerReference": "Points to an owner, with which the object is garbage collected.",
}


def description_of(group: str, kind: str) -> str:
    """Return the sentence about a kind.

    Raises:
        LookupError: There is none yet.
    """
    found = DESCRIPTIONS.get(f"{group}/{kind}") or DESCRIPTIONS.get(kind)
    if found is None:
        raise LookupError(f"{group} {kind} has no sentence in {__file__}; write one")
    return found
