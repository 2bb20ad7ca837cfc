"""A client that delegates to another one and records what it is asked for."""

from __future__ import annotations

from typing import Any

from kinform.client import Client, Reachability, ViewWatcher


class RecordingClient:
    """Satisfies Reader, Writer and Watcher without being a ``Client``."""

    def __init__(self, inner: Client) -> None:
        self._inner = inner
        self.calls: list[str] = []

    @property
    def reachability(self) -> Reachability:
        return self._inner.reachability

    def view(self, form: type[Any]) -> ViewWatcher[Any]:
        self.calls.append(f"view {form.__name__}")
        return self._inner.view(form)

    def watch(self, resource: Any, options: Any = None, **more: Any) -> Any:
        self.calls.append("watch")
        return self._inner.watch(resource, options, **more)

    async def page(self, resource: Any, options: Any, **more: Any) -> Any:
        self.calls.append("page")
        return await self._inner.page(resource, options, **more)

    async def get(self, resource: Any, name: str, **options: Any) -> Any:
        self.calls.append(f"get {name}")
        return await self._inner.get(resource, name, **options)

    async def list(self, resource: Any, **options: Any) -> Any:
        self.calls.append("list")
        return await self._inner.list(resource, **options)

    async def create(self, obj: Any, **options: Any) -> Any:
        self.calls.append("create")
        return await self._inner.create(obj, **options)

    async def update(self, obj: Any, **options: Any) -> Any:
        self.calls.append(f"update {options.get('subresource', '')}".strip())
        return await self._inner.update(obj, **options)

    async def apply(self, obj: Any, **options: Any) -> Any:
        self.calls.append("apply")
        return await self._inner.apply(obj, **options)

    async def patch(self, resource: Any, name: str, patch: Any, **options: Any) -> Any:
        self.calls.append(f"patch {name}")
        return await self._inner.patch(resource, name, patch, **options)

    async def delete(self, resource: Any, name: str, **options: Any) -> Any:
        self.calls.append(f"delete {name}")
        return await self._inner.delete(resource, name, **options)

    async def delete_collection(self, resource: Any, **options: Any) -> None:
        self.calls.append("delete_collection")
        await self._inner.delete_collection(resource, **options)
