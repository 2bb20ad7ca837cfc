"""Draws a picture of the cluster as the lines of a terminal screen of any size. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from kinform.cli.demo._picture import DeploymentState, Health, News, NodeState, Picture, PodState

_COLOURS = {Health.GOOD: "32", Health.WAITING: "33", Health.BAD: "31", Health.LEAVING: "90"}
_DOTS = {Health.GOOD: "●", Health.WAITING: "◐", Health.BAD: "✖", Health.LEAVING: "○"}
_LEGEND = (
    (Health.GOOD, "ready"),
    (Health.WAITING, "starting"),
    (Health.BAD, "failing"),
    (Health.LEAVING, "stopping"),
)
_BAR = 10
_SMALLEST = (60, 16)


@dataclass(frozen=True, slots=True)
class Span:
    """Text in one style: an SGR code or empty."""

    text: str
    style: str = ""


Line = list[Span]


@dataclass(frozen=True, slots=True)
class ScreenStatus:
    """The content of the screen besides the picture."""

    url: str
    elapsed: float
    rate: float
    hint: str


def draw(
    picture: Picture, status: ScreenStatus, *, width: int, height: int, colour: bool
) -> list[str]:
    """Return exactly ``height`` lines of at most ``width``; on a small screen the rest is cut."""
    seen_width, seen_height = width, height
    width, height = max(width, _SMALLEST[0]), max(height, _SMALLEST[1])
    left = _deployments(picture)
    right = _nodes(picture, width=width - _left_width(width) - 1)
    body = _side_by_side(left, right, left_width=_left_width(width))
    lines = [_header(status, width), _rule(width), *body[: height - 8], [], [_title(" EVENTS")]]
    space = height - len(lines) - 2
    lines += _news(picture.news, space)
    lines += [_rule(width), _footer(picture, status, width)]
    return [_render(line, seen_width, colour=colour) for line in lines[:seen_height]]


def _left_width(width: int) -> int:
    return min(44, width // 2)


def _title(text: str) -> Span:
    return Span(text, "1")


def _rule(width: int) -> Line:
    return [Span("─" * width, "90")]


def _header(status: ScreenStatus, width: int) -> Line:
    right = f"{status.elapsed:5.1f} s "
    left = [Span(" kinform ", "1;7"), Span(f" simulated cluster on {status.url}", "")]
    return [*_padded(left, width - len(right)), Span(right, "90")]


def _footer(picture: Picture, status: ScreenStatus, width: int) -> Line:
    facts = (
        f" {picture.changes} changes",
        f"{status.rate:.0f}/s",
        f"{picture.objects} objects",
        f"{_size(picture.bytes_received)}",
        f"resource version {picture.resource_version}",
    )
    hint = f"{status.hint} "
    return [*_padded([Span(" · ".join(facts), "")], width - len(hint)), Span(hint, "90")]


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{count / 1e3:.0f} kB"


def _deployments(picture: Picture) -> list[Line]:
    lines: list[Line] = [[Span(" "), _title("DEPLOYMENTS")]]
    for deployment in sorted(picture.deployments.values(), key=lambda d: d.key):
        lines.append(_deployment(deployment))
    return lines


def _deployment(deployment: DeploymentState) -> Line:
    share = min(1.0, deployment.ready / deployment.desired) if deployment.desired else 1.0
    full = round(share * _BAR)
    complete = deployment.ready >= deployment.desired
    style = _COLOURS[Health.GOOD if complete else Health.WAITING]
    return [
        Span(f" {_fit(deployment.key, 17)} "),
        Span(f"{_fit(deployment.image_tag, 4)} ", "36"),
        Span("█" * full, style),
        Span("░" * (_BAR - full), "90"),
        Span(f" {deployment.ready}/{deployment.desired}", style),
    ]


def _nodes(picture: Picture, *, width: int) -> list[Line]:
    by_node: defaultdict[str, list[PodState]] = defaultdict(list)
    for pod in picture.pods.values():
        by_node[pod.node].append(pod)
    lines: list[Line] = [[_title("PODS BY NODE")]]
    for node in sorted(picture.nodes.values(), key=lambda n: n.name):
        lines.append(_node(node, by_node.pop(node.name, []), width=width))
    waiting = [pod for pods in by_node.values() for pod in pods]
    lines.append([Span(f"{_fit('no node', 9)}", "90"), *_dots(waiting, space=width - 10)])
    lines.append([])
    legend: Line = []
    for health, meaning in _LEGEND:
        legend += [Span(_DOTS[health], _COLOURS[health]), Span(f" {meaning} ", "90")]
    lines.append(legend)
    return lines


def _node(node: NodeState, pods: list[PodState], *, width: int) -> Line:
    style = "" if node.ready else _COLOURS[Health.BAD]
    note = [] if node.ready else [Span(" NotReady", _COLOURS[Health.BAD])]
    space = width - 10 - sum(len(span.text) for span in note)
    return [Span(_fit(node.name, 9), style), *_dots(pods, space=space), *note]


def _dots(pods: Iterable[PodState], *, space: int) -> Line:
    # Sorted by name, so that the dot of a pod keeps its position.
    ordered = sorted(pods, key=lambda pod: pod.key)
    shown = ordered[: max(0, space - 4)] if len(ordered) > space else ordered
    dots = [Span(_DOTS[pod.health], _COLOURS[pod.health]) for pod in shown]
    hidden = len(ordered) - len(shown)
    return [*dots, Span(f" +{hidden}", "90")] if hidden else dots


def _news(news: Iterable[News], space: int) -> list[Line]:
    newest = list(news)[-space:] if space > 0 else []
    lines: list[Line] = [
        [
            Span(f" {_DOTS[item.health]} ", _COLOURS[item.health]),
            Span(f"{item.subject} ", ""),
            Span(item.text, _COLOURS[item.health]),
        ]
        for item in newest
    ]
    return lines + [[] for _ in range(space - len(lines))]


def _side_by_side(left: list[Line], right: list[Line], *, left_width: int) -> list[Line]:
    height = max(len(left), len(right))
    left = left + [[] for _ in range(height - len(left))]
    right = right + [[] for _ in range(height - len(right))]
    return [[*_padded(a, left_width), *b] for a, b in zip(left, right, strict=True)]


def _padded(line: Line, width: int) -> Line:
    missing = width - sum(len(span.text) for span in line)
    return [*_cut(line, width), Span(" " * max(0, missing))]


def _cut(line: Line, width: int) -> Line:
    kept: Line = []
    for span in line:
        if width <= 0:
            break
        kept.append(Span(span.text[:width], span.style))
        width -= len(span.text)
    return kept


def _fit(text: str, width: int) -> str:
    """Pad or truncate to exactly ``width``; truncated text ends in an ellipsis."""
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"


def _render(line: Line, width: int, *, colour: bool) -> str:
    spans = _cut(line, width)
    if not colour:
        return "".join(span.text for span in spans).rstrip()
    return "".join(
        f"\x1b[{span.style}m{span.text}\x1b[0m" if span.style else span.text for span in spans
    )
