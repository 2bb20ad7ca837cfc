"""18.25: the permissions of docs/recipes/rbac.md on a real kube-apiserver, as applied by kubectl.

The programs run with the token of the service account, and with nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kinform import (
    GVR,
    ClusterConfig,
    NotFoundError,
    blocking,
)
from kinform.errors import ForbiddenError
from kinform.informers import ReflectorOptions
from kinform.models.core.v1 import ConfigMap
from kinform.transport import StaticToken
from tests.support.cluster import RealCluster
from tests.support.recipes import PATIENCE, blocks, running, wait_until, write_program

pytestmark = pytest.mark.cluster


def config_of(cluster: RealCluster, token: str) -> ClusterConfig:
    return ClusterConfig(
        server=cluster.url, certificate_authority=cluster.ca_file, credentials=StaticToken(token)
    )


@pytest.fixture(scope="module")
def shop(real_cluster: RealCluster) -> Iterator[blocking.Client]:
    """An administrator of a cluster with the namespace ``shop``, and all manifests applied."""
    with blocking.Client(config_of(real_cluster, real_cluster.admin_token)) as admin:
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        for manifests in blocks("rbac", "yaml"):
            real_cluster.kubectl("apply", "-f", "-", stdin=manifests)
        for name in ("settings", "other"):
            metadata = {"name": name, "namespace": "shop"}
            admin.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        yield admin
        for manifests in blocks("rbac", "yaml"):
            real_cluster.kubectl("delete", "--wait=false", "-f", "-", stdin=manifests)
        real_cluster.kubectl("delete", "--wait=false", "namespace", "shop")


def token_of(cluster: RealCluster, account: str) -> str:
    return cluster.kubectl("create", "token", account, "--namespace", "shop").strip()


def kubeconfig_of(cluster: RealCluster, account: str, folder: Path) -> Path:
    ca = {"server": cluster.url, "certificate-authority": str(cluster.ca_file)}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": ca}],
        "users": [{"name": "it", "user": {"token": token_of(cluster, account)}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content), "utf-8")
    return path


def test_the_cluster_role_is_enough_for_all_namespaces(
    shop: blocking.Client, real_cluster: RealCluster
) -> None:
    """18.25: whole objects and metadata; nothing else may be read."""
    config = config_of(real_cluster, token_of(real_cluster, "informer"))
    with blocking.Client(config) as client:
        whole = blocking.DynamicSharedInformerFactory(client)
        heads = blocking.MetadataSharedInformerFactory(client)
        for resource in ("v1/pods", "v1/nodes", "apps/v1/deployments"):
            whole.for_resource(resource)
            heads.for_resource(resource)
        with whole, heads:
            assert whole.wait_for_cache_sync(timeout=PATIENCE)
            assert heads.wait_for_cache_sync(timeout=PATIENCE)
        with pytest.raises(ForbiddenError):
            client.list(GVR("", "v1", "secrets"), namespace="shop")
        with pytest.raises(ForbiddenError):
            client.get(GVR("", "v1", "pods"), "web", namespace="shop")


def test_the_role_is_enough_for_one_namespace_and_one_object(
    shop: blocking.Client, real_cluster: RealCluster, tmp_path: Path
) -> None:
    """18.25: the program of the page, as a process with the token of the account."""
    kubeconfig = kubeconfig_of(real_cluster, "shop-informer", tmp_path)
    with running(write_program(tmp_path, "rbac"), kubeconfig) as run:
        assert run.wait() == 0, run.err
        assert run.out.splitlines() == [
            "all 2 informers have synced",
            "metadata: all 1 informers have synced",
            "[]",
            "['settings']",
        ]


@pytest.fixture
def limited(
    request: pytest.FixtureRequest, shop: blocking.Client, real_cluster: RealCluster
) -> Iterator[blocking.Client]:
    """A client that may use one verb on the pods of ``shop``."""
    verb: str = request.param
    metadata = {"name": f"only-{verb}", "namespace": "shop"}
    group = "rbac.authorization.k8s.io"
    account = {"kind": "ServiceAccount", **metadata}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}]
    role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules}
    reference = {"apiGroup": group, "kind": "Role", "name": metadata["name"]}
    shop.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    shop.create(role)
    shop.create({**role, "kind": "RoleBinding", "roleRef": reference, "subjects": [account]})
    token = token_of(real_cluster, metadata["name"])
    with blocking.Client(config_of(real_cluster, token)) as client:
        yield client


@pytest.mark.parametrize("limited", ["list"], indirect=True)
def test_without_watch_an_informer_syncs_once_and_says_why_it_is_stale(
    limited: blocking.Client,
) -> None:
    """18.25: as the page says; the health names the verb."""
    factory = blocking.DynamicSharedInformerFactory(limited, namespace="shop")
    factory.for_resource("v1/pods")
    with factory:
        assert factory.wait_for_cache_sync(timeout=PATIENCE)
        wait_until(lambda: 'cannot watch resource "pods"' in str(factory.health()))
        assert factory.health().ready
        assert not factory.health(max_staleness=0).ready


@pytest.mark.parametrize("limited", ["watch"], indirect=True)
def test_without_list_an_informer_syncs_only_where_lists_are_streamed(
    limited: blocking.Client,
) -> None:
    """18.25: as the page says; otherwise it does not sync, and its health names the verb."""
    streamed = blocking.DynamicSharedInformerFactory(limited, namespace="shop")
    streamed.for_resource("v1/pods")
    paged = blocking.DynamicSharedInformerFactory(
        limited, namespace="shop", options=ReflectorOptions(streaming=False)
    )
    paged.for_resource("v1/pods")
    with streamed, paged:
        assert streamed.wait_for_cache_sync(timeout=PATIENCE)
        wait_until(lambda: 'cannot list resource "pods"' in str(paged.health()))
        assert not paged.health().ready


def test_the_controller_works_with_its_permissions(
    shop: blocking.Client, real_cluster: RealCluster, tmp_path: Path
) -> None:
    """18.25: it creates, updates and deletes on a real server, and is refused nothing."""

    def team() -> str | None:
        try:
            return shop.get(ConfigMap, "team", namespace="shop").data["team"]
        except NotFoundError:
            return None

    def label(value: str) -> None:
        real_cluster.kubectl("label", "--overwrite", "namespace", "shop", f"team{value}")

    kubeconfig = kubeconfig_of(real_cluster, "teams", tmp_path)
    with running(write_program(tmp_path, "controller-by-hand"), kubeconfig) as controller:
        label("=red")
        wait_until(lambda: team() == "red")
        label("=blue")
        wait_until(lambda: team() == "blue")
        label("-")
        wait_until(lambda: team() is None)
        assert controller.terminate() == 0
        assert "orbidden" not in controller.err
