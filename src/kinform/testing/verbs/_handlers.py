"""The verbs of the server: one method per verb, which handles a request and responds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from kinform.errors import ApiError, ResourceVersionTooLargeError
from kinform.testing import api_errors
from kinform.testing.formats import (
    Encoding,
    Encodings,
    Representation,
    ResponseFormat,
    check_format,
    negotiate,
)
from kinform.testing.interception import Call, Interception, Sink
from kinform.testing.requests import (
    Query,
    RequestTarget,
    decode_any,
    decode_object,
    parse_delete_options,
    parse_list_options,
    parse_write_options,
)
from kinform.testing.resources import ServedResource
from kinform.testing.responses import (
    MemberGzipSink,
    accepts_gzip,
    common_headers,
    requests_pretty,
    send_body,
    send_pieces,
)
from kinform.testing.storage import ClusterState, StoredObject
from kinform.testing.verbs._create import create_object
from kinform.testing.verbs._delete import delete_object
from kinform.testing.verbs._list import list_objects, required_version
from kinform.testing.verbs._patch import decode_patch, patch_object
from kinform.testing.verbs._reviews import is_review, review
from kinform.testing.verbs._running_watches import RunningWatches
from kinform.testing.verbs._scale import handle_scale
from kinform.testing.verbs._selection import Selection
from kinform.testing.verbs._subresources import (
    bind_pod,
    create_token,
    evict_pod,
    finalize_namespace,
)
from kinform.testing.verbs._update import replace_object
from kinform.testing.verbs._watch import WatchHandler, WatchSettings, parse_version
from kinform.testing.verbs._writes import find_object

Json = dict[str, Any]

# Subresources that are the whole object, or its status, with separate permissions.
_WHOLE_OBJECTS = {"approval": "status", "ephemeralcontainers": "", "resize": ""}


class VerbSettings(msgspec.Struct, frozen=True):
    """The server options that affect verbs.

    Attributes:
        watch_list: Whether a watch may start with the current objects.
        compress: Whether to compress if the client accepts it.
        future_wait: Seconds to wait for a version that does not exist yet.
        watch: The settings of watches.
    """

    watch_list: bool
    compress: bool
    future_wait: float
    watch: WatchSettings


class Caller(msgspec.Struct, frozen=True):
    """The user of a request, and a function that returns the user of a token."""

    user: str
    identify: Callable[[str], str | None]


class VerbHandlers:
    """The verbs of one server."""

    def __init__(self, cluster: ClusterState, settings: VerbSettings) -> None:
        self._cluster = cluster
        self._settings = settings
        self._encodings = Encodings()
        self.watches = RunningWatches()

    async def handle(
        self, target: RequestTarget, interception: Interception, sink: Sink, caller: Caller
    ) -> None:
        """Handle a request and send the response.

        Raises:
            ApiError: The request failed. Nothing has been sent then.
        """
        served = target.served
        assert served is not None  # a location without one is refused earlier
        call = interception.call
        form = negotiate(
            call.headers.get("Accept", ""), custom=served.custom, watch=target.verb == "watch"
        )
        query = {name: [value] for name, value in call.query.items()}
        if target.subresource in _WHOLE_OBJECTS:
            target = replace(target, subresource=_WHOLE_OBJECTS[target.subresource])
        view = Representation(served, form.version)
        pretty = requests_pretty(call.query, call.headers)
        encoding = self._encodings.objects(form, view, pretty=pretty)
        request = _Request(call, query, target, served, form, view, encoding, self._gzip(call))
        if is_review(served):
            await self._review(request, sink, caller)
            return
        if target.subresource and target.subresource != "status":
            await self._subresource(request, sink)
            return
        match target.verb:
            case "list":
                await self._list(request, interception, sink)
            case "watch":
                await self._watch(request, interception, sink)
            case "get":
                await self._get(request, sink)
            case "create":
                await self._create(request, sink)
            case "update":
                await self._update(request, sink)
            case "patch":
                await self._patch(request, sink)
            case "delete":
                await self._delete(request, sink)
            case "deletecollection":
                await self._delete_collection(request, interception, sink)

    # Reading

    async def _get(self, request: _Request, sink: Sink) -> None:
        check_format(request.form, listing=False, kind=request.go_kind)
        if version := request.query.get("resourceVersion"):
            await self._wait_for_version(parse_version(version[0]))
        target = request.target
        stored = find_object(self._cluster, request.served, target.namespace, target.name)
        await self._send(request, sink, request.view.body(stored))

    async def _list(self, request: _Request, interception: Interception, sink: Sink) -> None:
        check_format(request.form, listing=True, kind=request.go_kind)
        options = parse_list_options(
            request.query, request.served, watch_list=self._settings.watch_list
        )
        if not options.continue_token:
            await self._wait_for_version(required_version(options))
        namespace = request.target.namespace
        response = list_objects(self._cluster, request.served, namespace, options, request.view)
        pieces = request.encoding.list(interception.listing(response))
        headers = common_headers(request.encoding.content_type)
        await send_pieces(sink, headers, pieces, gzip=request.gzip)

    async def _watch(self, request: _Request, interception: Interception, sink: Sink) -> None:
        target = request.target
        options = parse_list_options(
            {**request.query, "watch": ["true"]},
            request.served,
            watch_list=self._settings.watch_list,
            name=target.name,
        )
        asked = parse_version(options.resource_version)
        if options.initial_events:
            # If the version is not reached, the stream reports it, as clients expect.
            with suppress(ResourceVersionTooLargeError):
                await self._wait_for_version(asked)
        if request.gzip and options.initial_events and options.bookmarks:
            sink = MemberGzipSink(sink)
        await sink.start(200, common_headers(request.encoding.watch_type))
        collection = self._cluster.collection(request.served)
        watch = WatchHandler(
            collection,
            Selection(collection, target.namespace, options),
            request.view,
            request.encoding,
            options,
            self._settings.watch,
            interception.frames(),
        )
        with self.watches.added(watch, interception.call, sink):
            await watch.run(sink, self._cluster.storage.resource_version)
        await sink.finish()

    async def _wait_for_version(self, version: int) -> None:
        """Wait a short time for a version that does not exist yet.

        Raises:
            ResourceVersionTooLargeError: The version was not reached.
        """
        storage = self._cluster.storage
        if version <= storage.resource_version:
            return
        reached = asyncio.Event()
        cancel = storage.when_reached(version, reached.set)
        try:
            async with asyncio.timeout(self._settings.future_wait):
                await reached.wait()
        except TimeoutError:
            raise api_errors.too_large(version, storage.resource_version) from None
        finally:
            cancel()

    # Writing

    async def _create(self, request: _Request, sink: Sink) -> None:
        call, target, served = request.call, request.target, request.served
        options = parse_write_options(request.query, "CreateOptions")
        obj = decode_object(call.body, request.content_type, served)
        if served.kind == "Binding" and not served.custom:
            await self._bind(request, sink, obj, options.dry_run)
            return
        stored = create_object(self._cluster, served, target.namespace, obj, options)
        await self._send(request, sink, request.view.body(stored), status=201)

    async def _bind(self, request: _Request, sink: Sink, binding: Json, dry_run: bool) -> None:
        """Bind a pod in the legacy way: with a Binding of the same name."""
        pods = self._cluster.registry.find("", "v1", "pods")
        assert pods is not None  # every server has pods
        name = (binding.get("metadata") or {}).get("name", "")
        namespace = request.target.namespace
        bind_pod(self._cluster, pods, namespace, name, binding, dry_run)
        await self._send(request, sink, msgspec.json.encode(_success(201)), status=201)

    async def _update(self, request: _Request, sink: Sink) -> None:
        call, target, served = request.call, request.target, request.served
        options = parse_write_options(request.query, "UpdateOptions")
        obj = decode_object(call.body, request.content_type, served)
        stored, created = replace_object(
            self._cluster,
            served,
            target.namespace,
            target.name,
            obj,
            options,
            target.subresource,
        )
        status = 201 if created else 200
        await self._send(request, sink, request.view.body(stored), status=status)

    async def _patch(self, request: _Request, sink: Sink) -> None:
        target, served = request.target, request.served
        kind, patch = decode_patch(request.call.body, request.content_type, served)
        options = parse_write_options(request.query, "PatchOptions")
        stored = patch_object(
            self._cluster,
            served,
            target.namespace,
            target.name,
            kind,
            patch,
            options,
            target.subresource,
        )
        await self._send(request, sink, request.view.body(stored))

    async def _delete(self, request: _Request, sink: Sink) -> None:
        target, served = request.target, request.served
        options = parse_delete_options(request.query, request.call.body, request.content_type)
        deleted = delete_object(self._cluster, served, target.namespace, target.name, options)
        if deleted.gone and not served.traits.delete_returns_object:
            uid = deleted.stored.metadata()["uid"]
            body = api_errors.success_body(served.qualified_name, target.name, uid)
        else:
            body = request.view.body(deleted.stored)
        await self._send(request, sink, body)

    async def _delete_collection(
        self, request: _Request, interception: Interception, sink: Sink
    ) -> None:
        target, served = request.target, request.served
        options = parse_delete_options(request.query, request.call.body, request.content_type)
        selected = parse_list_options(request.query, served, watch_list=self._settings.watch_list)
        response = list_objects(self._cluster, served, target.namespace, selected, request.view)
        # Encoded before the deletion, because the response contains the deleted objects.
        pieces = list(request.encoding.list(interception.listing(response)))
        collection = self._cluster.collection(served)
        selection = Selection(collection, target.namespace, selected)
        for stored in collection.select(selection.prefix):
            if selection.matches(stored) and stored.key in collection.objects:
                namespace, _, name = stored.key.rpartition("/")
                delete_object(self._cluster, served, namespace, name, options)
        headers = common_headers(request.encoding.content_type)
        await send_pieces(sink, headers, pieces, gzip=request.gzip)

    # Reviews and subresources

    async def _review(self, request: _Request, sink: Sink, caller: Caller) -> None:
        review_request = decode_object(request.call.body, request.content_type, request.served)
        response = review(request.served, review_request, caller.user, caller.identify)
        await self._send(request, sink, msgspec.json.encode(response), status=201)

    async def _subresource(self, request: _Request, sink: Sink) -> None:
        target, served, call = request.target, request.served, request.call
        kind = {"PUT": "UpdateOptions", "PATCH": "PatchOptions"}.get(call.method, "CreateOptions")
        options = parse_write_options(request.query, kind)
        taken = served.subresources[target.subresource.partition("/")[0]].gvk
        cluster, place = self._cluster, (target.namespace, target.name)
        response: Json | StoredObject
        status = 201
        match target.subresource:
            case "scale":
                stored = find_object(cluster, served, *place)
                response = handle_scale(
                    cluster, served, stored, call.method, call.body, request.content_type, options
                )
                status = 200
            case "finalize":
                stored = find_object(cluster, served, *place)
                given = decode_object(call.body, request.content_type, served)
                response = finalize_namespace(cluster, served, stored, given, options.dry_run)
                status = 200
            case "binding":
                body = decode_any(call.body, request.content_type, taken)
                if (body.get("metadata") or {}).get("name") != target.name:
                    message = "name in URL does not match name in Binding object"
                    raise api_errors.bad_request(message)
                bind_pod(cluster, served, *place, body, options.dry_run)
                response = _success(201)
            case "eviction":
                body = decode_any(call.body, request.content_type, taken)
                evict_pod(cluster, served, *place, body)
                response = _success(201)
            case "token":
                body = decode_any(call.body, request.content_type, taken)
                response = create_token(cluster, served, *place, body)
            case _:
                find_object(cluster, served, *place)
                raise _node_required(served, target)
        if isinstance(response, StoredObject):
            encoded = request.view.body(response)
        else:
            encoded = msgspec.json.encode(response)
        await self._send(request, sink, encoded, status=status)

    # Responses

    def _gzip(self, call: Call) -> bool:
        return self._settings.compress and accepts_gzip(call.headers.get("Accept-Encoding", ""))

    async def _send(self, request: _Request, sink: Sink, body: bytes, *, status: int = 200) -> None:
        headers = common_headers(request.encoding.content_type)
        response = request.encoding.body(body)
        await send_body(sink, status, headers, response, gzip=request.gzip)


class _Request(msgspec.Struct, frozen=True):
    call: Call
    query: Query
    target: RequestTarget
    served: ServedResource
    form: ResponseFormat
    view: Representation
    encoding: Encoding
    gzip: bool

    @property
    def content_type(self) -> str:
        return self.call.headers.get("Content-Type", "")

    @property
    def go_kind(self) -> str:
        group = self.served.gvr.group.partition(".")[0] or "core"
        return "unstructured.Unstructured" if self.served.custom else f"{group}.{self.served.kind}"


def _success(code: int) -> Json:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": code,
    }


def _node_required(served: ServedResource, target: RequestTarget) -> ApiError:
    return ApiError(
        f"{served.gvr.resource}/{target.subresource} needs a node; the embedded server has none",
        code=501,
        reason="NotImplemented",
    )
