"""The page for people who know controller-runtime: its names are there, and each of ours exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import kinform
from kinform import Cache, Client, ClusterConfig, SharedInformerFactory, controllers, errors
from kinform import cache as cache_package
from kinform.controllers import predicates
from tests.unit.test_coming_from_client_go import codes, keywords, resolve

PAGE = (Path(__file__).parents[2] / "docs/coming-from-controller-runtime.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("| Go |", "|---"))
]
# The names of the code that this project grew from, and those that its users look for.
SHOWN = """
    InformersMap MapEntry CacheReader scheme mapper codecs paramCodec stop resync started
    startWait namespace selectors disableDeepCopy DisableDeepCopyByGVK transformers
    TransformFuncByGVK Structured Unstructured Metadata informersByType specificInformersMap
    addInformerToMap makeListWatcher ApplyToList resyncPeriod RESTMapping scopeName indexer
    NewTimeoutError ByObject Options DefaultNamespaces UnsafeDisableDeepCopy
    TransformStripManagedFields SyncPeriod ReaderFailOnMissingInformer ErrCacheNotStarted
    ErrResourceNotCached GetInformer GetInformerForKind RemoveInformer IndexField MatchingFields
    ControllerManagedBy For Owns Watches Reconciler Request RequeueAfter TerminalError
    GenerationChangedPredicate EnqueueRequestForOwner SetControllerReference CreateOrUpdate
    GracefulShutdownTimeout LeaderElectionID AddReadyzCheck SetupSignalHandler
    MatchingLabels DelegatingClient GetAPIReader EnableReadYourWritesConsistency DeleteAllOf
"""
WORDS = {"async with", "ignore", "namespace/name", "subresource=", "None", "/readyz"}


@pytest.fixture(scope="module")
def roots() -> dict[str, Any]:
    """What the small words of the page stand for. No server is asked."""
    client = Client(ClusterConfig(server="http://127.0.0.1:1"))
    cache = Cache(client)
    informer = SharedInformerFactory(client).core.v1.pods.informer
    named = {name: getattr(cache_package, name) for name in cache_package.__all__}
    named |= {name: value for name, value in vars(errors).items() if name.endswith("Error")}
    named |= {name: getattr(controllers, name) for name in controllers.__all__}
    named |= {"predicates": predicates, "manager": controllers.Manager(client)}
    named |= {"Handle": kinform.objects.Handle, "TypedObject": kinform.TypedObject}
    return {**named, "cache": cache, "client": cache.client(), "informer": informer}


def test_no_name_of_the_go_code_is_missing() -> None:
    there = {word for go, *_ in ROWS for code in codes(go) for word in re.findall(r"\w+", code)}
    assert sorted(set(SHOWN.split()) - there) == []


def test_every_row_has_two_cells_and_says_something() -> None:
    assert [cells for cells in ROWS if len(cells) != 2 or not all(cells)] == []


@pytest.mark.parametrize("python", [cells[-1] for cells in ROWS], ids=[cells[0] for cells in ROWS])
def test_every_python_name_exists_and_takes_these_keywords(
    python: str, roots: dict[str, Any]
) -> None:
    names = [code for code in codes(python) if code not in WORDS]
    assert names or python.startswith("\N{EN DASH}")
    for code in names:
        dotted, _, arguments = code.partition("(")
        found = resolve(dotted, roots)
        if arguments:
            taken = keywords(found)
            assert set(re.findall(r"(\w+)=", arguments)) <= taken, f"{dotted} takes {taken}"
