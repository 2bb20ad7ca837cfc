"""The controller manager: two phases, shared informers, identities, election, shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import aiohttp
import pytest

from kinform import Client, NotFoundError
from kinform.controller_manager import (
    Build,
    ControllerClients,
    ControllerContext,
    ControllerDescriptor,
    ControllerManager,
    ControllerRegistry,
)
from kinform.controllers import Context, Controller, Request
from kinform.errors import ConfigError, LeadershipLostError, ShutdownTimeoutError
from kinform.models.core.v1 import ConfigMap, Secret
from kinform.models.events.v1 import Event
from kinform.objects import PartialObjectMetadata
from kinform.testing import ApiServer
from tests.support.config_maps import config_map
from tests.support.managed_fakes import FakeController, FakeElector
from tests.support.waiting import wait_until


@pytest.fixture
async def client(kinform_api: ApiServer) -> AsyncIterator[Client]:
    kinform_api.create(config_map("a"))
    async with Client(kinform_api.config) as client:
        yield client


async def _idle(request: Request, context: Context[Any]) -> None:
    """A reconciler that does nothing."""


def _maps(context: ControllerContext) -> Controller[Any]:
    return Controller(context.name, _idle, for_=ConfigMap)


def _registry(**builds: Build) -> ControllerRegistry:
    return ControllerRegistry(
        ControllerDescriptor(name=name, build=build) for name, build in builds.items()
    )


def _agents(api: ApiServer, verb: str, resource: str) -> list[str]:
    found = api.requests.matching(verb=verb, resource=resource)
    return [each.headers["user-agent"] for each in found]


def _tasks() -> Iterable[asyncio.Task[Any]]:
    return {
        task
        for task in asyncio.all_tasks()
        if getattr(task.get_coro(), "__qualname__", "") != "RequestHandler.start"
    }


# -- two phases ------------------------------------------------------------------------------


async def test_all_controllers_are_built_before_any_informer_starts(
    kinform_api: ApiServer, client: Client
) -> None:
    journal: list[str] = []

    def build(context: ControllerContext) -> FakeController:
        journal.append(f"build {context.name}")
        assert not context.informers_started
        contexts.append(context)
        return FakeController(context.name, journal)

    contexts: list[ControllerContext] = []
    manager = ControllerManager(client, registry=_registry(first=build, second=build))
    assert journal == ["build first", "build second"]
    assert kinform_api.requests.count() == 0
    assert manager.controllers == ("first", "second")

    async with manager:
        await manager.informers_started
        await manager.elected
        assert all(each.informers_started for each in contexts)
        await wait_until(lambda: "second works" in journal)

    assert journal[2:4] == ["first warms up", "second warms up"]
    assert list(_tasks()) == [asyncio.current_task()]


async def test_declared_kinds_are_listed_as_soon_as_informers_start(client: Client) -> None:
    seen: list[int] = []

    class Looking(FakeController):
        async def warm_up(self, cluster: Any, *, recorder: Any = None) -> None:
            seen.append(len(cluster.cache.peek(ConfigMap).list(namespace="default")))

    registry = _registry(looking=lambda context: Looking(context.name, []), maps=_maps)
    async with ControllerManager(client, registry=registry) as manager:
        await manager.ready

    assert seen
    assert seen[0] > 0


async def test_informers_that_start_with_the_others_have_synced_before_controllers_run(
    client: Client,
) -> None:
    synced: list[bool] = []

    def build(context: ControllerContext) -> Any:
        informer = context.informers.for_model(Secret).informer

        async def run() -> None:
            synced.append(bool(informer.has_synced))

        return run

    async with ControllerManager(client, registry=_registry(secrets=build)) as manager:
        await manager.elected
        await wait_until(lambda: bool(synced))
        informer = next(iter(manager.informers.informers.values()))

    assert synced == [True]
    assert informer.is_stopped


async def test_an_informer_that_is_requested_later_is_started_by_hand(client: Client) -> None:
    names: list[str] = []

    def build(context: ControllerContext) -> Any:
        async def run() -> None:
            await context.informers_started
            maps = context.informers.for_model(ConfigMap)
            context.informers.start()
            await maps.informer.has_synced
            names.extend(each.name for each in maps.lister.list())

        return run

    async with ControllerManager(client, registry=_registry(late=build)) as manager:
        await manager.elected
        await wait_until(lambda: bool(names))

    assert "a" in names


async def test_waits_for_the_informers_fail_if_the_manager_never_starts_them(
    client: Client,
) -> None:
    manager = ControllerManager(
        client, registry=_registry(maps=_maps), address="256.0.0.1:1", debug=False
    )
    with pytest.raises(Exception, match="cannot listen"):
        await manager.run()
    with pytest.raises(Exception, match="stopped before informers were started"):
        await manager.informers_started


# -- what controllers share ------------------------------------------------------------------


async def test_controllers_factory_and_metadata_share_one_watch_per_kind(
    kinform_api: ApiServer, client: Client
) -> None:
    informers: list[Any] = []

    def build(context: ControllerContext) -> Controller[Any]:
        informers.append(context.informers.for_model(ConfigMap).informer)
        informers.append(context.object_or_metadata("v1/configmaps"))
        return _maps(context)

    registry = _registry(first=build, second=build, third=_maps)
    async with ControllerManager(client, registry=registry) as manager:
        await manager.ready
        await manager.client.list(ConfigMap)

        assert kinform_api.requests.count(resource="configmaps", verb="watch") == 1
        assert [bool(each.has_synced) for each in informers] == [True] * 4


async def test_kinds_without_a_model_are_watched_as_metadata(
    kinform_api: ApiServer, client: Client
) -> None:
    forms: list[Any] = []

    def build(context: ControllerContext) -> Controller[Any]:
        forms.append(context.object_or_metadata("example.com/v1/things").form)
        forms.append(context.object_or_metadata(Secret).form)
        return _maps(context)

    ControllerManager(client, registry=_registry(first=build))

    assert forms == [PartialObjectMetadata, Secret]


async def test_namespaces_limit_what_all_controllers_see(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
    kinform_api.create(config_map("b", "elsewhere"))
    manager = ControllerManager(client, registry=_registry(maps=_maps), namespace="elsewhere")
    async with manager:
        await manager.ready
        found = await manager.client.list(ConfigMap)

    assert {each.namespace for each in found} == {"elsewhere"}


# -- identities ------------------------------------------------------------------------------


async def test_each_controller_writes_as_itself_and_reads_from_the_shared_cache(
    kinform_api: ApiServer, client: Client
) -> None:
    written: list[str] = []

    def build(context: ControllerContext) -> Controller[Any]:
        async def reconcile(request: Request, running: Context[Any]) -> None:
            if request.name != "a":
                return
            name = f"by-{context.name}"
            await running.client.create(config_map(name))
            written.append((await running.client.get(ConfigMap, f"default/{name}")).name)
            running.recorder.event(
                await running.client.get(ConfigMap, "default/a"), "Normal", "Wrote", name
            )

        return Controller(context.name, reconcile, for_=ConfigMap)

    registry = _registry(first=build, second=build)
    async with ControllerManager(client, registry=registry) as manager:
        await manager.elected
        await wait_until(lambda: len(written) == 2)

    assert sorted(written) == ["by-first", "by-second"]
    wanted = {f"kinform-controller-manager/{name}" for name in ("first", "second")}
    assert set(_agents(kinform_api, "create", "configmaps")) == wanted
    assert set(_agents(kinform_api, "create", "events")) == wanted
    assert not wanted & set(_agents(kinform_api, "watch", "configmaps"))
    events = await client.list(Event, namespace="default")
    reporters = {each.reporting_controller for each in events}
    assert reporters == {"first", "second"}


async def test_controllers_can_be_service_accounts(kinform_api: ApiServer, client: Client) -> None:
    clients = ControllerClients(client, service_accounts="kube-system")
    mine = clients("job-controller")
    async with mine:
        await mine.create(config_map("b"))

    [request] = kinform_api.requests.matching(verb="create", resource="configmaps")
    assert request.headers["impersonate-user"] == (
        "system:serviceaccount:kube-system:job-controller"
    )
    with pytest.raises(ConfigError, match="must be a namespace, not 'a/b'"):
        ControllerClients(client, service_accounts="a/b")


async def test_clients_of_controllers_are_closed_at_the_end(client: Client) -> None:
    made: list[Client] = []

    def clients(name: str) -> Client:
        made.append(ControllerClients(client)(name))
        return made[-1]

    registry = _registry(maps=_maps)
    async with ControllerManager(client, registry=registry, clients=clients) as manager:
        await manager.ready
        await made[0].list(ConfigMap)

    with pytest.raises(Exception, match="closed"):
        await made[0].list(ConfigMap)
    await client.list(ConfigMap)


# -- which controllers -----------------------------------------------------------------------


async def test_only_selected_controllers_with_their_gates_are_built(client: Client) -> None:
    built: list[str] = []

    def build(context: ControllerContext) -> FakeController:
        built.append(context.name)
        return FakeController(context.name, [])

    registry = _registry(one=build, two=build)
    registry.controller("gated", gates=["New"])(build)
    registry.controller("off", default_on=False)(build)
    registry.controller("nothing")(lambda context: None)

    for controllers, gates, expected in (
        ("*", [], ("one", "two")),
        ("*,-two", ["New"], ("one", "gated")),
        ("off,gated", [], ("off",)),
    ):
        manager = ControllerManager(client, registry=registry, controllers=controllers, gates=gates)
        assert manager.controllers == expected
    assert built == ["one", "two", "one", "gated", "off"]


async def test_a_manager_without_controllers_is_a_mistake(client: Client) -> None:
    registry = _registry(nothing=lambda context: None, maps=_maps)
    with pytest.raises(ConfigError, match="has no controllers to run"):
        ControllerManager(client, registry=registry, controllers="nothing")
    with pytest.raises(ConfigError, match="there are: maps, nothing"):
        ControllerManager(client, registry=registry, controllers="*,-pods")


async def test_what_a_build_function_does_wrong_names_the_controller(client: Client) -> None:
    def broken(context: ControllerContext) -> None:
        raise ValueError("no luck")

    async def coroutine(context: ControllerContext) -> None:
        return None

    wrong: list[tuple[Any, type[Exception], str]] = [
        (broken, ValueError, "no luck"),
        (lambda context: coroutine(context), ConfigError, "'web' must not be async"),
        (lambda context: 3, ConfigError, "'web' must return a Controller"),
        (
            lambda context: FakeController("other", []),
            ConfigError,
            "'web' was built with the name 'other'",
        ),
    ]
    for build, error, message in wrong:
        with pytest.raises(error, match=message) as caught:
            ControllerManager(client, registry=_registry(web=build))
        assert caught.value.__notes__ == ["This happened when controller web was built."]


async def test_options_reach_their_controller(client: Client) -> None:
    seen: dict[str, Any] = {}

    def build(context: ControllerContext) -> FakeController:
        seen[context.name] = dict(context.options)
        return FakeController(context.name, [])

    registry = _registry(one=build)
    registry.controller("two-controller", aliases=["two"])(build)
    ControllerManager(client, registry=registry, options={"two": {"workers": 5}})

    assert seen == {"one": {}, "two-controller": {"workers": 5}}
    with pytest.raises(ConfigError, match="no controller 'three'"):
        ControllerManager(client, registry=registry, options={"three": {}})


async def test_resync_periods_are_drawn_for_each_call(client: Client) -> None:
    periods: list[float] = []

    def build(context: ControllerContext) -> FakeController:
        periods.extend(context.resync_period() for _ in range(20))
        return FakeController(context.name, [])

    ControllerManager(client, registry=_registry(one=build), resync_period=10.0)

    assert all(10.0 <= each <= 20.0 for each in periods)
    assert len(set(periods)) > 1
    with pytest.raises(ConfigError, match="resync_period must be seconds"):
        ControllerManager(client, registry=_registry(one=build), resync_period=-1.0)


async def test_resources_of_the_server_are_read_again_only_if_a_controller_uses_them(
    client: Client,
) -> None:
    def curious(context: ControllerContext) -> FakeController:
        assert context.discovery is client.discovery
        return FakeController(context.name, [])

    def names(registry: ControllerRegistry) -> list[str]:
        status = ControllerManager(client, registry=registry).status()
        return [each.name for each in status.components]

    assert names(_registry(maps=_maps)) == ["maps"]
    assert names(_registry(maps=_maps, curious=curious)) == ["maps", "curious", "discovery"]


# -- start and stop --------------------------------------------------------------------------


async def test_controllers_start_at_different_times(client: Client) -> None:
    def build(context: ControllerContext) -> FakeController:
        return FakeController(context.name, journal)

    journal: list[str] = []
    registry = _registry(one=build, two=build)
    manager = ControllerManager(client, registry=registry, start_interval=3600.0)
    delays = [manager._delay() for _ in range(20)]
    assert all(3600.0 <= each <= 7200.0 for each in delays)
    assert len(set(delays)) > 1


async def test_on_standby_controllers_are_warm_and_do_not_work(client: Client) -> None:
    journal: list[str] = []
    elector = FakeElector()

    def build(context: ControllerContext) -> FakeController:
        return FakeController(context.name, journal)

    registry = _registry(web=build)
    async with ControllerManager(client, registry=registry, election=elector) as manager:
        await manager.ready
        assert journal == ["web warms up"]
        elector.win()
        await manager.elected
        await wait_until(lambda: "web works" in journal)
        elector.lose()
        await wait_until(lambda: "web is cancelled" in journal)
        elector.win()
        await wait_until(lambda: journal.count("web works") == 2)


async def test_writes_of_controllers_are_refused_without_the_lease(client: Client) -> None:
    refused: list[str] = []
    elector = FakeElector()

    def build(context: ControllerContext) -> Any:
        async def run() -> None:
            await context.client.create(config_map("with-lease"))
            assert elector.leadership is not None
            elector.leadership.is_valid = False
            try:
                await context.client.create(config_map("without-lease"))
            except LeadershipLostError as error:
                refused.append(str(error))
            elector.leadership.is_valid = True

        return run

    registry = _registry(writer=build)
    async with ControllerManager(client, registry=registry, election=elector) as manager:
        elector.win()
        await manager.elected
        await wait_until(lambda: bool(refused))

    assert "was not sent" in refused[0]
    await client.get(ConfigMap, "with-lease", namespace="default")
    with pytest.raises(NotFoundError):
        await client.get(ConfigMap, "without-lease", namespace="default")


async def test_the_shutdown_is_bounded_and_names_who_is_late(client: Client) -> None:
    def build(context: ControllerContext) -> FakeController:
        return fine if context.name == "fine" else stuck

    fine = FakeController("fine", [])
    stuck = FakeController("stuck", [], finishing=60, ignores_cancel=True)
    registry = _registry(fine=build, stuck=build)
    manager = ControllerManager(client, registry=registry, grace=0.1)
    running = asyncio.create_task(manager.run())
    try:
        await manager.elected
        await wait_until(lambda: "stuck works" in stuck.journal)
        manager.stop()
        with pytest.raises(ShutdownTimeoutError, match="stuck") as caught:
            await running
    finally:
        stuck.let_go.set()

    assert "fine" not in str(caught.value)
    assert "fine finished" in fine.journal


async def test_each_controller_has_its_own_probe_and_debug_page(client: Client) -> None:
    made: list[FakeController] = []

    def build(context: ControllerContext) -> FakeController:
        made.append(FakeController(context.name, []))
        return made[-1]

    registry = _registry(first=build, second=build, maps=_maps)
    manager = ControllerManager(client, registry=registry, address=":0")
    async with manager, aiohttp.ClientSession() as session:
        await manager.ready
        made[1].found = ("out of milk",)

        async def get(path: str) -> tuple[int, str]:
            async with session.get(f"http://{manager.address}{path}") as response:
                return response.status, await response.text()

        assert await get("/readyz/first") == (200, "ok")
        assert await get("/readyz/informers") == (200, "ok")
        status, text = await get("/readyz/second")
        assert (status, "out of milk" in text) == (503, True)
        assert (await get("/healthz"))[0] == 200
        status, text = await get("/debug/controllers/maps")
        assert (status, '"maps"' in text, '"second"' in text) == (200, True, False)
        assert '"queue"' in text
        assert "<html" in (await get("/debug/controllers/maps?format=html"))[1].lower()
        assert (await get("/debug/controllers/nobody"))[0] == 404
