"""The demo's screen at any size: nothing runs over, nothing of use is lost."""

from __future__ import annotations

import re

import pytest

from kinform.cli.demo._picture import DeploymentState, Health, News, NodeState, Picture, PodState
from kinform.cli.demo._screen import ScreenStatus, draw

STATUS = ScreenStatus("http://127.0.0.1:65535", elapsed=12.34, rate=17.6, hint="Ctrl-C stops")


@pytest.fixture
def picture() -> Picture:
    picture = Picture(changes=412, bytes_received=1_234_567, resource_version="1839")
    for index in range(4):
        picture.nodes[f"node-{index}"] = NodeState(f"node-{index}", ready=index != 2)
    healths = list(Health)
    for index in range(30):
        key = f"shop/web-{index}"
        picture.pods[key] = PodState(key, f"node-{index % 4}", healths[index % 4], "Running", 0)
    picture.pods["shop/late"] = PodState("shop/late", "", Health.WAITING, "Pending", 0)
    for name, ready in (("cart", 3), ("web", 1)):
        picture.deployments[f"shop/{name}"] = DeploymentState(f"shop/{name}", "1.4", 3, ready)
    for index in range(50):
        picture.news.append(News(Health.BAD, f"pod shop/web-{index}", "crashed, restart 1"))
    return picture


@pytest.mark.parametrize(
    ("width", "height"), [(80, 24), (120, 40), (60, 16), (200, 60), (30, 8), (1, 1)]
)
def test_the_screen_is_exactly_as_large_as_the_terminal(
    picture: Picture, width: int, height: int
) -> None:
    lines = draw(picture, STATUS, width=width, height=height, colour=False)

    assert len(lines) == height
    assert max(map(len, lines)) <= width


def test_the_screen_tells_what_a_person_wants_to_know(picture: Picture) -> None:
    screen = "\n".join(draw(picture, STATUS, width=80, height=24, colour=False))

    assert "http://127.0.0.1:65535" in screen
    assert re.search(r"shop/cart +1\.4 +██████████ 3/3", screen)
    assert re.search(r"shop/web +1\.4 +███░░░░░░░ 1/3", screen)
    assert re.search(r"node-2 .* NotReady", screen)
    assert re.search(r"no node +◐", screen)
    assert "412 changes · 18/s · 37 objects · 1.2 MB · resource version 1839" in screen
    assert "● ready ◐ starting ✖ failing ○ stopping" in screen
    assert "Ctrl-C stops" in screen


def test_the_newest_news_are_shown_last(picture: Picture) -> None:
    lines = draw(picture, STATUS, width=80, height=24, colour=False)

    assert lines[-3].endswith("pod shop/web-49 crashed, restart 1")


def test_more_pods_than_fit_are_counted(picture: Picture) -> None:
    for index in range(300):
        picture.pods[f"x/{index}"] = PodState(f"x/{index}", "node-1", Health.GOOD, "Running", 0)

    lines = draw(picture, STATUS, width=80, height=24, colour=False)

    [row] = [line for line in lines if "node-1" in line]
    shown, hidden = row.count("●") + row.count("◐") + row.count("✖") + row.count("○"), row
    assert int(re.findall(r"\+(\d+)", hidden)[0]) + shown == 300 + len(
        [
            pod
            for key, pod in picture.pods.items()
            if key.startswith("shop") and pod.node == "node-1"
        ]
    )


def test_colours_add_nothing_but_colours(picture: Picture) -> None:
    plain = draw(picture, STATUS, width=80, height=24, colour=False)
    coloured = draw(picture, STATUS, width=80, height=24, colour=True)

    assert any("\x1b[" in line for line in coloured)
    stripped = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in coloured]
    assert stripped == plain


def test_an_empty_cluster_can_be_drawn() -> None:
    lines = draw(Picture(), STATUS, width=80, height=24, colour=False)

    assert len(lines) == 24
    assert "0 changes" in lines[-1]
