"""Whatever happens to a server, an informer ends up with what it has, and everybody heard how."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kinform.client import Client
from kinform.informers import Backoff, ReflectorOptions
from kinform.testing import ApiServer, run_virtual
from tests.property.histories import (
    LIST_TROUBLES,
    OPEN_TROUBLES,
    STREAM_TROUBLES,
    WATCH_TROUBLES,
    Question,
)
from tests.property.history_embedded import (
    EMBEDDED_TROUBLES,
    NAMESPACES,
    EmbeddedWorld,
    Token,
)
from tests.property.history_model import ModelWorld
from tests.property.history_runs import LISTENINGS, Step

pytestmark = pytest.mark.usefixtures("silent_logs")

SHAPES: dict[str, Sequence[Question]] = {
    "everything": [Question()],
    "one namespace": [Question("n1")],
    "two namespaces": [Question("n1"), Question("n2")],
    "selected": [Question(app="web")],
    "selected in two namespaces": [Question("n1", "web"), Question("n2", "web")],
}

namespaces = st.sampled_from(["n1", "n2", "n3"])
names = st.sampled_from(["a", "b"])
apps = st.sampled_from(["web", "db"])


@pytest.fixture
def silent_logs() -> Iterator[None]:
    """Hundreds of bad days: what is said of each would drown the one that matters."""
    logger = logging.getLogger("kinform")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    yield
    logger.setLevel(level)


def steps(do: str, *arguments: st.SearchStrategy[object]) -> st.SearchStrategy[Step]:
    return st.builds(Step, st.just(do), st.tuples(*arguments))


@st.composite
def mixed(draw: st.DrawFn, parts: Mapping[st.SearchStrategy[Step], int]) -> Step:
    """Each part as often as its number says; ``one_of`` gives every kind of step the same share."""
    shares = [part for part, share in parts.items() for _ in range(share)]
    return draw(shares[draw(st.integers(0, len(shares) - 1))])


def acts_of(step: st.SearchStrategy[Step]) -> st.SearchStrategy[list[list[Step]]]:
    """A script. One flat list would be short on average, and a least length hinders shrinking."""
    return st.lists(st.lists(step, max_size=12), max_size=8)


writes = st.one_of(
    steps("put", namespaces, names, apps),
    steps("put", namespaces, names, apps),
    steps("delete", namespaces, names),
    steps("recreate", namespaces, names, apps),
    steps("rush", namespaces, names, st.lists(st.none() | apps, min_size=2, max_size=4)),
)
lives = st.one_of(
    steps("join", st.sampled_from(sorted(LISTENINGS))),
    steps("leave"),
    steps("stop"),
    steps("start"),
)
model_lives = st.one_of(lives, steps("restart_behind", st.integers(1, 4)))
waits = steps("catch_up")
model_waits = st.one_of(
    waits,
    steps("pause", st.sampled_from([0.0, 0.1, 0.5, 2.0, 40.0, 700.0])),
    steps("await_version", namespaces),
)
poisoned_rushes = steps(
    "poisoned_rush",
    namespaces,
    names,
    st.lists(st.none() | st.tuples(apps, st.booleans()), min_size=3, max_size=8),
)
model_troubles = st.one_of(
    steps("poison", namespaces, names, apps),
    steps("compact"),
    steps("fall_behind", st.integers(0, 4)),
    steps("hide_expiry", st.booleans()),
    steps("trouble_open", st.sampled_from(OPEN_TROUBLES)),
    steps("trouble_open", st.sampled_from(OPEN_TROUBLES)),
    *(
        steps("trouble_next", st.just(kind), st.sampled_from(troubles), st.integers(1, 4))
        for kind, troubles in (
            ("list", LIST_TROUBLES),
            ("watch", WATCH_TROUBLES),
            ("stream", STREAM_TROUBLES),
        )
    ),
)
embedded_troubles = st.one_of(
    steps("compact"),
    steps("restart_server"),
    steps("rotate_token"),
    *(
        steps("trouble_next", st.just(verb), st.sampled_from(sorted(troubles)), st.integers(1, 3))
        for verb, troubles in EMBEDDED_TROUBLES.items()
    ),
)
embedded_waits = st.one_of(waits, steps("pause", st.sampled_from([0.0, 0.01, 0.04])))


@settings(max_examples=300)
@given(
    shape=st.sampled_from(sorted(SHAPES)),
    streaming=st.booleans(),
    page_size=st.sampled_from([None, 1, 2]),
    transforms=st.booleans(),
    slow=st.booleans(),
    before=st.lists(writes, max_size=8),
    acts=acts_of(
        mixed({writes: 8, poisoned_rushes: 1, model_waits: 4, model_troubles: 2, model_lives: 2})
    ),
)
def test_whatever_happens_the_store_and_every_handler_end_up_with_the_truth(
    shape: str,
    streaming: bool,
    page_size: int | None,
    transforms: bool,
    slow: bool,
    before: list[Step],
    acts: list[list[Step]],
) -> None:
    async def play() -> None:
        options = ReflectorOptions(streaming=streaming, page_size=page_size)
        world = ModelWorld(SHAPES[shape], options=options, transforms=transforms, slow=slow)
        await world.play(before, [step for act in acts for step in act])

    run_virtual(play())


@settings(max_examples=30)
@given(
    shape=st.sampled_from(sorted(SHAPES)),
    streaming=st.booleans(),
    page_size=st.sampled_from([None, 1, 2]),
    transforms=st.booleans(),
    before=st.lists(writes, max_size=8),
    acts=acts_of(mixed({writes: 4, embedded_troubles: 1, embedded_waits: 1, lives: 1})),
)
def test_the_same_holds_on_a_server_with_real_sockets_and_faults(
    shape: str,
    streaming: bool,
    page_size: int | None,
    transforms: bool,
    before: list[Step],
    acts: list[list[Step]],
) -> None:
    async def play() -> None:
        token = Token()
        async with ApiServer(tokens={token.newest: "somebody"}) as api:
            for name in NAMESPACES:
                api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            options = ReflectorOptions(
                streaming=streaming,
                page_size=page_size,
                poll_interval=0.05,
                backoff=lambda: Backoff(0.002, cap=0.01),
            )
            async with Client(replace(api.config, credentials=token)) as client:
                world = EmbeddedWorld(
                    api, client, token, SHAPES[shape], options=options, transforms=transforms
                )
                await world.play(before, [step for act in acts for step in act])

    asyncio.run(play())
