"""Loading of kubeconfig files: merging, validation and resolving of paths."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kinform._checks import expect
from kinform.errors import ConfigError
from kinform.transport._config import ClusterConfig
from kinform.transport._kubeconfig_section import Section, default_paths, load_section
from kinform.transport._kubeconfig_user import credentials_of, exec_cluster_info, impersonation_of


class Kubeconfig(msgspec.Struct, frozen=True):
    """Several merged files: the first file wins for each name and for the current context."""

    files: tuple[Path, ...]
    clusters: Mapping[str, Section]
    users: Mapping[str, Section]
    contexts: Mapping[str, Section]
    current_context: str

    @property
    def origin(self) -> str:
        return os.pathsep.join(map(str, self.files))


def load_kubeconfig(
    path: str | os.PathLike[str] | None, environment: Mapping[str, str]
) -> Kubeconfig:
    """Load the given file, or the files of ``KUBECONFIG``, or ``~/.kube/config``.

    Missing files of ``KUBECONFIG`` are skipped if at least one exists.

    Raises:
        ConfigError: There is no file, or one is invalid; the message names it.
    """
    if path is not None and not isinstance(path, str):
        expect(path, os.PathLike, receiver="from_kubeconfig", expected="a path: a str or a Path")
    paths = (Path(path),) if path is not None else default_paths(environment)
    tops = [top for top in map(load_section, paths) if top is not None]
    if not tops:
        tried = ", ".join(map(str, paths))
        raise ConfigError(
            f"no kubeconfig found at {tried}; give a path, or set KUBECONFIG to one that exists"
        )
    return merge(tops)


def merge(tops: Sequence[Section]) -> Kubeconfig:
    clusters: dict[str, Section] = {}
    users: dict[str, Section] = {}
    contexts: dict[str, Section] = {}
    current = ""
    for top in tops:
        for merged, plural, singular in (
            (clusters, "clusters", "cluster"),
            (users, "users", "user"),
            (contexts, "contexts", "context"),
        ):
            for name, entry in _named(top, plural, singular).items():
                merged.setdefault(name, entry)
        current = current or top.text("current-context")
    return Kubeconfig(tuple(top.file for top in tops), clusters, users, contexts, current)


def _named(top: Section, plural: str, singular: str) -> dict[str, Section]:
    """Convert a list of ``{name, <singular>}`` to a mapping."""
    found: dict[str, Section] = {}
    for item in top.sections(plural):
        name = item.text("name")
        if not name:
            raise item.error("name is missing")
        if name in found:
            raise top.error(f"{plural} has two entries named {name!r}; remove one")
        content = item.section(singular)
        found[name] = Section(top.file, f"{singular} {name!r}", content.content if content else {})
    return found


def resolve(kubeconfig: Kubeconfig, context_name: str | None) -> ClusterConfig:
    """Return the configuration of a context.

    Raises:
        ConfigError: The context, its cluster or its user is missing or invalid.
    """
    if context_name is not None:
        expect(context_name, str, receiver="context", expected="the name of a context")
    name = context_name or kubeconfig.current_context
    if not name:
        raise ConfigError(
            f"{kubeconfig.origin}: no current-context is set; choose a context by name: "
            + _listed(kubeconfig.contexts)
        )
    context = kubeconfig.contexts.get(name)
    if context is None:
        source = "" if context_name else "current-context names "
        raise ConfigError(
            f"{kubeconfig.origin}: {source}context {name!r}, which is not there; "
            + _nearest(name, kubeconfig.contexts)
        )
    cluster = _referred(context, "cluster", kubeconfig.clusters)
    if cluster is None:
        raise context.error("cluster is missing; name one of: " + _listed(kubeconfig.clusters))
    user = _referred(context, "user", kubeconfig.users)
    return _config(name, context, cluster, user)


def _config(name: str, context: Section, cluster: Section, user: Section | None) -> ClusterConfig:
    if not cluster.text("server"):
        raise cluster.error("server is missing; it must look like https://host:6443")
    authority = cluster.data("certificate-authority-data") or cluster.path("certificate-authority")
    options: dict[str, Any] = {
        "server": cluster.text("server"),
        "certificate_authority": authority,
        "insecure_skip_tls_verify": cluster.flag("insecure-skip-tls-verify"),
        "tls_server_name": cluster.text("tls-server-name") or None,
        "proxy_url": cluster.text("proxy-url") or None,
        "credentials": credentials_of(user, exec_cluster_info(cluster, authority)),
        "impersonation": impersonation_of(user),
        "namespace": context.text("namespace") or "default",
        "name": f"context {name!r} of {context.file}",
    }
    try:
        return ClusterConfig(**options)
    except ConfigError as error:
        raise cluster.error(str(error)) from None


def _referred(context: Section, kind: str, entries: Mapping[str, Section]) -> Section | None:
    name = context.text(kind)
    if not name:
        return None
    if name not in entries:
        raise context.error(f"{kind} {name!r} is not there; " + _nearest(name, entries))
    return entries[name]


def _nearest(name: str, entries: Mapping[str, Section]) -> str:
    import difflib

    near = difflib.get_close_matches(name, entries, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}there is: {_listed(entries)}"


def _listed(entries: Mapping[str, Section], *, most: int = 20) -> str:
    if not entries:
        return "none at all"
    names = sorted(entries)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
