"""Whatever is done to an indexer, it equals a dict and indices computed from it anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kinform.informers._changes import DeletedObject
from kinform.informers.store._index_functions import (
    IndexFunc,
    field_index,
    label_index,
    namespace_index,
    owner_index,
)
from kinform.informers.store._indexer import Indexer
from kinform.informers.store._store import StoreWrite
from kinform.objects import Handle, PartialObjectMetadata, Unstructured
from tests.support.objects import record_of


def _picky(obj: Handle) -> list[str]:
    if obj.labels.get("app") == "bad":
        raise LookupError(obj.key)
    return [*obj.labels.values(), *obj.labels.values()]


def _kind_of_handle(obj: Handle) -> str:
    return type(obj).__name__


FUNCTIONS: dict[str, IndexFunc[Any]] = {
    "namespace": namespace_index,
    "app": label_index("app"),
    "owner": owner_index,
    "nodes": field_index("spec.nodes"),
    "picky": _picky,
    "handle": _kind_of_handle,
    "nothing": lambda obj: None,
}

trees: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "namespace": st.sampled_from(["", "n1", "n2"]),
        "name": st.sampled_from(["a", "b", "c"]),
        "uid": st.sampled_from(["u1", "u2"]),
        # An empty value is one like any other, and so is one that is part of another.
        "app": st.sampled_from(["web", "w", "", "bad", None]),
        "owners": st.lists(st.sampled_from(["o1", "o2"]), max_size=3),
        "nodes": st.one_of(
            st.none(), st.just({}), st.lists(st.sampled_from(["x", "xy", ""]), max_size=3)
        ),
    }
)


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store: Indexer[Unstructured] = Indexer()
        self.view = self.store.view(PartialObjectMetadata)
        self.functions: dict[str, Callable[[Unstructured], Any]] = {}
        self.objects: dict[str, Unstructured] = {}
        self.versions = 0
        self.version = ""

    def make(self, tree: dict[str, Any]) -> Unstructured:
        self.versions += 1
        metadata = {
            "name": tree["name"],
            "namespace": tree["namespace"],
            "uid": tree["uid"],
            "resourceVersion": str(self.versions),
            "labels": {} if tree["app"] is None else {"app": tree["app"]},
            "ownerReferences": [{"uid": uid} for uid in tree["owners"]],
        }
        spec = {"nodes": tree["nodes"]}
        whole = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        return Unstructured.over(record_of(whole))

    @initialize(names=st.sets(st.sampled_from(sorted(FUNCTIONS))))
    def begin(self, names: set[str]) -> None:
        for name in sorted(names):
            self.add_indexers(name, through_view=False)

    @rule(name=st.sampled_from(sorted(FUNCTIONS)), through_view=st.booleans())
    def add_indexers(self, name: str, through_view: bool) -> None:
        if name in self.functions:
            return
        function = FUNCTIONS[name]
        door: Indexer[Any] = self.view if through_view else self.store
        door.add_indexers({name: function})
        if through_view:
            self.functions[name] = lambda obj: function(PartialObjectMetadata.over(obj.record))  # type: ignore[arg-type]  # all of them are views
        else:
            self.functions[name] = function

    @rule(tree=trees, verb=st.sampled_from(["add", "update"]), editable=st.booleans())
    def put(self, tree: dict[str, Any], verb: str, editable: bool) -> None:
        obj = self.make(tree)
        getattr(self.store, verb)(obj.copy() if editable else obj)
        self.objects[obj.key] = obj
        self.version = obj.resource_version

    @rule(tree=trees, known=st.booleans(), tombstone=st.booleans())
    def delete(self, tree: dict[str, Any], known: bool, tombstone: bool) -> None:
        obj = self.make(tree)
        if tombstone:
            self.store.delete(DeletedObject(obj.key, obj, final_state_unknown=not known))
        else:
            self.store.delete(obj)
        self.objects.pop(obj.key, None)
        if known or not tombstone:
            self.version = obj.resource_version

    @rule(news=st.lists(trees, max_size=4), kept=st.integers(0, 9), version=st.booleans())
    def replace(self, news: list[dict[str, Any]], kept: int, version: bool) -> None:
        objects = [*self.objects.values()][:kept] + [self.make(tree) for tree in news]
        self.versions += 1
        self.store.replace(objects, str(self.versions) if version else "")
        self.objects = {obj.key: obj for obj in objects}
        if version:
            self.version = str(self.versions)

    @rule(steps=st.lists(st.tuples(trees, st.booleans()), max_size=5))
    def apply(self, steps: list[tuple[dict[str, Any], bool]]) -> None:
        writes = [StoreWrite(self.make(tree), delete=delete) for tree, delete in steps]
        assert self.store.apply(writes) == {}
        for write in writes:
            assert isinstance(write.object, Unstructured)
            self.objects.pop(write.object.key, None)
            if not write.delete:
                self.objects[write.object.key] = write.object
            self.version = write.object.resource_version

    @invariant()
    def items_are_equal(self) -> None:
        assert {obj.key: obj for obj in self.store} == self.objects
        assert dict(self.store.snapshot()) == self.objects
        assert sorted(self.view.list_keys()) == sorted(self.objects)
        assert self.store.resource_version == self.view.resource_version == self.version

    @invariant()
    def indices_are_equal(self) -> None:
        assert self.store.indexers.keys() == self.functions.keys()
        errors = set()
        for name, function in self.functions.items():
            expected: dict[str, set[str]] = {}
            for key, obj in self.objects.items():
                try:
                    values = function(obj) or ()
                except (LookupError, TypeError):
                    errors.add((name, key))
                    continue
                for value in {values} if isinstance(values, str) else set(values):
                    expected.setdefault(value, set()).add(key)
            self.index_is_equal(name, expected)
        assert self.store.index_errors.keys() == errors

    def index_is_equal(self, name: str, expected: dict[str, set[str]]) -> None:
        assert sorted(self.store.index_values(name)) == sorted(expected)
        for value, keys in expected.items():
            assert self.store.index_keys(name, value) == sorted(keys)
            found = self.store.by_index(name, value)
            assert len(found) == len(keys)
            assert {obj.key: obj for obj in found} == {key: self.objects[key] for key in keys}
            assert {obj.key for obj in self.view.by_index(name, value)} == keys

    @invariant()
    def bytes_are_equal(self) -> None:
        # What was added as an editable object was written down in its own way.
        assert self.store.memory == sum(obj.memory for obj in self.store)
        assert self.store.index_memory.keys() == self.functions.keys()


Model.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
test_an_indexer_equals_its_model = Model.TestCase
