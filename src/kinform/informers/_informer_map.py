"""The informer map: one informer per resource, scope and options, shared by all its leases."""

from __future__ import annotations

import inspect
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from kinform._runtime import Latch, running_loop
from kinform.api import GVR
from kinform.errors import AlreadyStoppedError, ConfigError, StateError
from kinform.informers._informer_key import InformerKey
from kinform.informers._lease import ResourceInformer
from kinform.informers._read_guard import UnsyncedReads
from kinform.informers._scope import Scope
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers._sync_result import SyncResult, wait_for_sync
from kinform.objects import Handle, TypedObject

V = TypeVar("V", bound=Handle)


class _Entry(msgspec.Struct, eq=False):
    """One informer with its own name, its views by class, and the leases of each owner."""

    key: InformerKey
    name: str
    informer: SharedIndexInformer[Any]
    views: dict[type[Handle], SharedIndexInformer[Any]]
    leases: Counter[object]
    is_removed: bool = False


class InformerMap:
    """Informers by key. Factories share one to share informers; each caller has its own lease.

    An informer stops with its last lease. All methods are thread-safe. Informers run on the event
    loop on which the map was created or first started.

    Args:
        name: The name used in errors.
    """

    def __init__(self, name: str = "the informer map") -> None:
        self.name = name
        # Reentrant: the function that creates an informer may request others.
        self._lock = threading.RLock()
        self._entries: dict[InformerKey, _Entry] = {}
        self._removed: list[SharedIndexInformer[Any]] = []
        self._loop = running_loop()
        self._is_shut_down = False

    # -- leases ------------------------------------------------------------------------------

    def lease(
        self,
        key: InformerKey,
        form: type[V],
        make: Callable[[], SharedIndexInformer[Any]],
        *,
        owner: object = None,
        unsynced_reads: UnsyncedReads = "warn",
    ) -> ResourceInformer[V]:
        """Return a new lease of the informer for the key, creating the informer if necessary.

        Args:
            key: What the informer covers.
            form: The class of the objects that the caller receives.
            make: Creates the informer.
            owner: Whose lease it is; see ``keys`` and ``release_all``.
            unsynced_reads: What the lister does before the first sync; see ``Lister``.

        Raises:
            AlreadyStoppedError: The map was shut down, and has no such informer to read from.
            ConfigError: Objects of the informer are not available as ``form``.
            StateError: ``make`` requested the informer that it was to create.
        """
        check_form(form, key.resource)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                self._require_open()
                name = self.free_name(key)
                informer = make()
                if key in self._entries:
                    raise StateError(
                        f"{key} was requested while it was being created; create it without "
                        "requesting it from the factory"
                    )
                entry = _Entry(key, name, informer, {informer.form: informer}, Counter())
            view = entry.views.get(form)
            if view is None:
                view = entry.views[form] = entry.informer.view(form)
            if key not in self._entries:
                self._entries[key] = entry
                entry.informer.scope_guard = partial(self._change_scope, entry)
            if not self._is_shut_down:
                entry.leases[owner] += 1
        return ResourceInformer(
            key.resource,
            view,
            start=partial(self._start, entry),
            release=partial(self._release, entry, owner),
            is_ended=lambda: self._is_shut_down or entry.is_removed or not entry.leases[owner],
            unsynced_reads=unsynced_reads,
        )

    def free_name(self, key: InformerKey) -> str:
        """Return a name for a new informer: keys that differ only in options have equal names."""
        with self._lock:
            taken = {entry.name for entry in self._entries.values()}
            name, number = str(key), 1
            while name in taken:
                number += 1
                name = f"{key} ({number})"
            return name

    def get(self, key: InformerKey) -> SharedIndexInformer[Any] | None:
        """Return the informer for a key, without a lease; ``None`` if there is none."""
        with self._lock:
            entry = self._entries.get(key)
            return None if entry is None else entry.informer

    def keys(self, owner: object = None) -> list[InformerKey]:
        """Return the keys of all informers, or of those that ``owner`` has a lease of."""
        with self._lock:
            return [
                key for key, entry in self._entries.items() if owner is None or entry.leases[owner]
            ]

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __repr__(self) -> str:
        return f"<InformerMap of {len(self)} informers>"

    @property
    def is_shut_down(self) -> bool:
        return self._is_shut_down

    def has_other_owners(self, owner: object) -> bool:
        """Whether there are leases that do not belong to ``owner``."""
        with self._lock:
            return any(
                entry.leases.total() > entry.leases[owner] for entry in self._entries.values()
            )

    def release_all(self, owner: object) -> list[SharedIndexInformer[Any]]:
        """End all leases of an owner, and return the informers that stop because of it."""
        with self._lock:
            held = [entry for entry in self._entries.values() if entry.leases[owner]]
            for entry in held:
                del entry.leases[owner]
            ended = [entry for entry in held if not entry.leases.total()]
            for entry in ended:
                self._remove_entry(entry)
        for entry in ended:
            entry.informer.stop()
        return [entry.informer for entry in ended]

    def remove(self, key: InformerKey) -> Latch:
        """Stop an informer, whatever leases there are, and remove it.

        Its leases are released; handlers and listers keep their last state. The next request for
        the key creates a new informer.

        Returns:
            A latch that is set when the informer has stopped.

        Raises:
            StateError: There is no informer for the key.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                raise StateError(f"{self.name} has no informer for {key}")
            self._remove_entry(entry)
        informer = entry.informer
        informer.stop()
        if informer.was_started:
            return informer.stopped
        stopped = Latch(f"{informer.name} has stopped")
        stopped.set()
        return stopped

    # -- lifecycle ---------------------------------------------------------------------------

    def start(self, keys: Iterable[InformerKey] | None = None) -> None:
        """Start these informers, or all, unless they are running. Callable from any thread.

        Raises:
            AlreadyStoppedError: The map was shut down.
            StateError: There is no event loop yet: make the first call where one runs. Or there is
                no informer for a key.
        """
        with self._lock:
            self._require_open()
            for key in list(self._entries) if keys is None else keys:
                entry = self._entries.get(key)
                if entry is None:
                    raise StateError(f"{self.name} has no informer for {key}")
                self._start(entry)

    async def wait_for_sync(
        self, timeout: float | None = None, *, keys: Iterable[InformerKey] | None = None
    ) -> SyncResult:
        """Wait until these informers, or all, have synced or stopped.

        Informers that were not started are not waited for, and count as not synced.
        """
        with self._lock:
            chosen = list(self._entries) if keys is None else list(keys)
            informers = {
                entry.name: entry.informer
                for key in chosen
                if (entry := self._entries.get(key)) is not None
            }
        return await wait_for_sync(informers, timeout)

    async def shutdown(self) -> None:
        """Stop all informers and return when their tasks and threads have ended.

        Idempotent; concurrent calls all wait. The map cannot be started again.
        """
        with self._lock:
            self._is_shut_down = True
            informers = [entry.informer for entry in self._entries.values()] + self._removed
        running = [informer for informer in informers if informer.is_running]
        for informer in running:
            informer.stop()
        for informer in running:
            await informer.stopped

    # -- private -----------------------------------------------------------------------------

    def _start(self, entry: _Entry) -> None:
        with self._lock:
            self._loop = running_loop() or self._loop
            if not entry.is_removed and not entry.informer.is_running:
                entry.informer.start(self._loop)

    def _release(self, entry: _Entry, owner: object) -> Latch | None:
        """End one lease; return the latch of the stop if it was the last one."""
        with self._lock:
            if entry.is_removed or not entry.leases[owner]:
                return None
            entry.leases[owner] -= 1
            if entry.leases.total():
                return None
            self._remove_entry(entry)
        entry.informer.stop()
        return entry.informer.stopped if entry.informer.was_started else None

    def _remove_entry(self, entry: _Entry) -> None:
        entry.is_removed = True
        entry.informer.scope_guard = None
        del self._entries[entry.key]
        # shutdown() waits for this informer too if it is still running by then.
        self._removed = [each for each in self._removed if not each.is_stopped]
        if entry.informer.is_running:
            self._removed.append(entry.informer)

    def _change_scope(self, entry: _Entry, scope: Scope) -> None:
        """Move an informer to the key of its new scope.

        Raises:
            StateError: Others have a lease of it, and rely on its scope.
            ConfigError: There is another informer for that scope.
        """
        with self._lock:
            if entry.leases.total() > 1:
                raise StateError(
                    f"{entry.key} has {entry.leases.total()} leases, so its scope cannot change; "
                    "create a separate informer, or release the other leases"
                )
            key = replace(entry.key, scope=scope)
            if self._entries.get(key, entry) is not entry:
                raise ConfigError(f"{self.name} already has an informer for {key}; use that one")
            del self._entries[entry.key]
            entry.key = key
            self._entries[key] = entry

    def _require_open(self) -> None:
        if self._is_shut_down:
            raise AlreadyStoppedError(f"{self.name} was shut down; create another one")


def check_form(form: type[Handle], resource: GVR) -> None:
    """Check that objects of a resource are available as ``form``.

    Raises:
        ConfigError: ``form`` is not a class of objects, or it is the model of another resource.
    """
    given: object = form  # callers may be untyped
    is_form = isinstance(given, type) and issubclass(given, Handle)
    if not is_form or inspect.isabstract(form) or form is TypedObject:
        raise ConfigError(
            f"form={form!r}: objects are available as Unstructured, PartialObjectMetadata, or the "
            "model class of the resource"
        )
    if issubclass(form, TypedObject) and (form.resource is None or form.resource.gvr != resource):
        own = "no resource" if form.resource is None else form.resource.gvr
        raise ConfigError(f"{form.__name__} is the class for {own}, not for {resource}")
