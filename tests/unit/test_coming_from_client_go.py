"""The page for people who know Go: no name of theirs is missing, and each of ours exists."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import kinform
from kinform import Client, ClusterConfig, SharedInformerFactory, client, controllers, informers
from kinform.workqueue import WorkQueue

PAGE = (Path(__file__).parents[2] / "docs/coming-from-client-go.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("| Go |", "|---"))
]
# Words that are Python's own, or that the row explains by themselves.
PLAIN = {"async", "datetime", "int", "is_in_initial_list", "len", "process", "str"}

# What the code shows that this project grew from: the factory and its node informer, shared
# informers, a program on stateful sets, the other factories, and the pod informer.
FACTORY = """
    SharedInformerFactory Start Shutdown WaitForCacheSync ForResource InformerFor WaitForStop
    NewSharedInformerFactory SharedInformerOption TweakListOptionsFunc NewInformerFunc
    GenericInformer SharedIndexInformer informers startedInformers defaultResync customResync
    shuttingDown Admissionregistration Internal Apps Autoscaling Batch Certificates Coordination
    Core Discovery Events Extensions Flowcontrol Networking Node Policy Rbac Resource Scheduling
    Storage V1 Interface group version
"""
CORE = """
    ComponentStatuses ConfigMaps Endpoints Events LimitRanges Namespaces Nodes PersistentVolumes
    PersistentVolumeClaims Pods PodTemplates ReplicationControllers ResourceQuotas Secrets Services
    ServiceAccounts ComponentStatusInformer ConfigMapInformer EndpointsInformer EventInformer
    LimitRangeInformer NamespaceInformer NodeInformer PersistentVolumeInformer
    PersistentVolumeClaimInformer PodInformer PodTemplateInformer ReplicationControllerInformer
    ResourceQuotaInformer SecretInformer ServiceInformer ServiceAccountInformer
"""
KIND = """
    Informer Lister NodeLister PodLister NewNodeInformer NewFilteredNodeInformer NewNodeLister
    NewPodInformer NewFilteredPodInformer NewPodLister NewFilteredDeploymentInformer
    DeploymentInformer Deployments defaultInformer GenericLister NewGenericLister List Watch
    ListOptions CoreV1 AppsV1 Indexers NamespaceIndex MetaNamespaceIndexFunc ListWatch ListFunc
    WatchFunc NewSharedIndexInformer GetIndexer nodeInformer podInformer deploymentInformer
"""
INFORMER = """
    SharedInformer AddEventHandler AddEventHandlerWithResyncPeriod GetStore GetController Run
    HasSynced LastSyncResourceVersion AddIndexers NewSharedInformer NewInformer NewIndexInformer
    SetWatchErrorHandler WatchErrorHandler SetTransform ResourceEventHandler OnAdd OnUpdate OnDelete
    Store Indexer NewIndexer Reflector Controller DeletionHandlingMetaNamespaceKeyFunc Index
    ListerWatcher NewCacheMutationDetector cacheMutationDetector sharedProcessor
    resyncCheckPeriod GroupResource
"""
PROGRAM = """
    NewSharedInformerFactoryWithOptions WithTweakListOptions WithNamespace StatefulSets
    ResourceEventHandlerFuncs AddFunc UpdateFunc DeleteFunc InClusterConfig BuildConfigFromFlags
    NewForConfig Config Everything StatefulSet NewDeltaFIFOWithOptions DeltaFIFOOptions KnownObjects
    EmitDeltaTypeReplaced Queue ObjectType FullResyncPeriod RetryOnError ShouldResync Process
    ProcessFunc HandleDeltas New DeltaFIFO Deltas threadSafeMap IndexFunc Indices KeyFunc
    DisableChunking ShouldResyncFunc WatchListPageSize Pod ObjectMeta TypeMeta PodSpec PodStatus
    PodPhase Container OwnerReference ManagedFieldsEntry RestartPolicy DNSPolicy NodeName HostIP
    PodIPs Time
"""
OTHER_FACTORIES = """
    NewDynamicSharedInformerFactory DynamicSharedInformerFactory NewFilteredDynamicInformer
    dynamicInformer NewForConfigOrDie NewInformerFactory InformerFactory
    ObjectOrMetadataInformerFactory CreateControllerContext ControllerContext
    NewControllerInitializers StartControllers LeaderElection GroupVersionResource Unstructured
    GetName GetNamespace Create Delete Namespace CreateOptions DeleteOptions InformersMap MapEntry
    CacheReader GroupVersionKind GroupKind RESTMapper RESTMapping Scope Selector Scheme Structured
    Metadata NewTimeoutError Deployment
"""
SHOWN = " ".join([FACTORY, CORE, KIND, INFORMER, PROGRAM, OTHER_FACTORIES]).split()


@pytest.fixture(scope="module")
def roots() -> dict[str, Any]:
    """What the small words of the page stand for. No server is asked."""
    a_client = Client(ClusterConfig(server="http://127.0.0.1:1"))
    factory = SharedInformerFactory(a_client)
    pods = factory.core.v1.pods
    registration = pods.informer.add_event_handler(on_add=lambda pod: None)
    return {
        "client": a_client,
        "factory": factory,
        "indexer": pods.informer.indexer,
        "informer": pods.informer,
        "kinform": kinform,
        "lister": pods.lister,
        "pods": pods,
        "queue": WorkQueue[str](),
        "registration": registration,
    }


def test_no_name_of_the_go_code_is_missing() -> None:
    there = {word for go, *_ in ROWS for code in codes(go) for word in re.findall(r"\w+", code)}
    there |= {word for cells in ROWS for word in re.findall(r"`(\w+)`", cells[-1])}
    assert sorted(set(SHOWN) - there) == []


def test_every_row_has_two_cells_and_says_something() -> None:
    assert [cells for cells in ROWS if len(cells) != 2 or not all(cells)] == []
    assert len(ROWS) > 100


@pytest.mark.parametrize("python", [cells[-1] for cells in ROWS], ids=[cells[0] for cells in ROWS])
def test_every_python_name_exists_and_takes_these_keywords(
    python: str, roots: dict[str, Any]
) -> None:
    names = [code for code in codes(python) if not is_plain(code)]
    assert names or python.startswith("\N{EN DASH}") or "snake_case" in python
    for code in names:
        dotted, _, arguments = code.partition("(")
        found = resolve(dotted, roots)
        if arguments:
            taken = keywords(found)
            assert set(re.findall(r"(\w+)=", arguments)) <= taken, f"{dotted} takes {taken}"


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", re.sub(r"\[`[^`]+`\]\([^)]*\)", "", cell))


def is_plain(code: str) -> bool:
    """Whether it is no name of ours: Python's own words, values, fields of models."""
    return (
        re.split(r"\W", code)[0] in PLAIN
        or code.startswith("{")
        or code in {"node_name", "host_ip", "pod_ips", "Structured", "Metadata"}
    )


def resolve(dotted: str, roots: dict[str, Any]) -> Any:
    if dotted.startswith("kinform."):
        return resolve_module(dotted)
    first, *rest = dotted.split(".")
    homes = [kinform, informers, client, controllers, import_module("kinform.models.core.v1")]
    homes.append(import_module("kinform.models.apps.v1"))
    if first in roots:
        found = roots[first]
    else:
        having = [home for home in homes if hasattr(home, first)]
        assert having, f"there is no {first}"
        found = getattr(having[0], first)
    for name in rest:
        assert hasattr(found, name), f"{dotted}: there is no {name} in {found!r}"
        found = getattr(found, name)
    return found


def resolve_module(dotted: str) -> Any:
    try:
        return import_module(dotted)
    except ModuleNotFoundError:
        home, _, name = dotted.rpartition(".")
        return getattr(import_module(home), name)


def keywords(found: Any) -> set[str]:
    names = set(inspect.signature(found).parameters)
    if isinstance(found, type) and issubclass(found, informers.InformerFactory):
        names |= set(inspect.signature(informers.InformerFactory).parameters)
    if "options" in names and "namespace" not in names:
        names |= set(client.ListKeywords.__annotations__)
    return names
