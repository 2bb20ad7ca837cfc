"""The HTTP server of a manager: probes, metrics and debug pages."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from kinform.controllers.manager._address import format_address, parse_address
from kinform.controllers.manager._health_checks import HealthChecks, render
from kinform.controllers.manager._metrics_page import INSTALL, render_metrics
from kinform.errors import ControllerError
from kinform.metrics import Metrics

if TYPE_CHECKING:
    from aiohttp.web import AppRunner, Request, StreamResponse

logger = logging.getLogger("kinform.manager")

# Seconds that open requests have when the server stops.
_CLOSING = 1.0


class DebugPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that is served as JSON and as HTML.

    Attributes:
        data: Returns the content, of JSON types.
        html: Returns the page for a content.
        part: Returns the content for one name, of the page ``<path>/<name>``; ``None`` if there is
            nothing of that name.
    """

    data: Callable[[], Any]
    html: Callable[[Any], str]
    part: Callable[[str], Any] | None = None


class HttpServer:
    """Serves the pages of a manager on one address.

    Args:
        address: ``host:port``; port 0 chooses a free one.
        probes: The health checks, by page.
        metrics: The metrics of the page ``/metrics``.
        debug: The debug pages by path.

    Raises:
        ConfigError: The address is invalid.
    """

    def __init__(
        self,
        address: str,
        *,
        probes: Mapping[str, HealthChecks],
        metrics: Metrics,
        debug: Mapping[str, DebugPage],
    ) -> None:
        # Imported only for programs that serve pages: it takes 0.2 s.
        from aiohttp import web

        self._web: Any = web
        self._host, self._port = parse_address(address)
        self._probes = probes
        self._metrics = metrics
        self._debug = debug
        self._runner: AppRunner | None = None

    @property
    def address(self) -> str:
        """The address, with the real port once it listens."""
        return format_address(self._host, self._port)

    async def start(self) -> None:
        """Listen.

        Raises:
            ControllerError: The address cannot be used; the message says why.
        """
        runner = self._web.AppRunner(
            self._application(), access_log=None, handle_signals=False, shutdown_timeout=_CLOSING
        )
        await runner.setup()
        self._runner = runner
        site = self._web.TCPSite(runner, self._host, self._port)
        try:
            await site.start()
        except OSError as error:
            await self.stop()
            raise ControllerError(
                f"cannot listen on {self.address}: {error.strerror or error}; stop the program "
                "that uses it, or choose another address (port 0 chooses a free port)"
            ) from error
        self._port = runner.addresses[0][1]
        logger.info("serving probes, metrics and debug pages on http://%s", self.address)

    async def stop(self) -> None:
        """Close the socket and all connections."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def _application(self) -> Any:
        application = self._web.Application()
        router = application.router
        router.add_get("/", self._index)
        for page, checks in self._probes.items():
            handler = self._probe_handler(checks)
            router.add_get(f"/{page}", handler)
            router.add_get(f"/{page}/{{check}}", handler)
        router.add_get("/metrics", self._serve_metrics)
        for path, page_of in self._debug.items():
            router.add_get(path, self._debug_handler(page_of))
            if page_of.part is not None:
                router.add_get(f"{path}/{{name}}", self._debug_handler(page_of))
        return application

    def _probe_handler(
        self, checks: HealthChecks
    ) -> Callable[[Request], Awaitable[StreamResponse]]:
        async def probe(request: Request) -> StreamResponse:
            only = request.match_info.get("check")
            if only is not None and only not in checks.names:
                known = ", ".join(checks.names)
                return self._text(404, f"{checks.page} has no check {only!r}; it has {known}\n")
            excluded = [
                name
                for value in request.query.getall("exclude", [])
                for name in value.split(",")
                if name
            ]
            results = await checks.run(only=only, exclude=excluded)
            status, text = render(
                checks.page,
                results,
                verbose="verbose" in request.query,
                unknown=[name for name in excluded if name not in checks.names],
            )
            return self._text(status, text)

        return probe

    def _debug_handler(self, page: DebugPage) -> Callable[[Request], Awaitable[StreamResponse]]:
        async def serve(request: Request) -> StreamResponse:
            name = request.match_info.get("name")
            content = page.data() if name is None or page.part is None else page.part(name)
            if content is None:
                return self._text(404, f"there is no {name!r} here\n")
            if _wants_html(request):
                return self._response(page.html(content).encode(), "text/html; charset=utf-8")
            body = msgspec.json.format(msgspec.json.encode(content), indent=2)
            return self._response(body + b"\n", "application/json")

        return serve

    async def _serve_metrics(self, request: Request) -> StreamResponse:
        rendered = render_metrics(self._metrics, request.headers.get("Accept", ""))
        if rendered is None:
            return self._text(404, INSTALL)
        content_type, body = rendered
        return self._response(body, content_type)

    async def _index(self, request: Request) -> StreamResponse:
        paths = [*(f"/{page}?verbose" for page in self._probes), "/metrics", *self._debug]
        if not _wants_html(request):
            return self._text(200, "\n".join(paths) + "\n")
        items = "".join(f'<li><a href="{path}">{path.partition("?")[0]}</a></li>' for path in paths)
        return self._response(f"<ul>{items}</ul>\n".encode(), "text/html; charset=utf-8")

    def _text(self, status: int, text: str) -> StreamResponse:
        return self._response(text.encode(), "text/plain; charset=utf-8", status)

    def _response(self, body: bytes, content_type: str, status: int = 200) -> StreamResponse:
        response: StreamResponse = self._web.Response(
            status=status,
            body=body,
            # A proxy must not answer a probe from its memory.
            headers={"Content-Type": content_type, "Cache-Control": "no-cache, no-store"},
        )
        return response


def _wants_html(request: Request) -> bool:
    form = request.query.get("format")
    if form is not None:
        return form == "html"
    return "text/html" in request.headers.get("Accept", "")
