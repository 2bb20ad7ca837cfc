"""A real cluster for the faults benchmark: it logs each read and can be restarted at will."""

from __future__ import annotations

import json
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.faults.logs import AUDIT_POLICY, Requests, count_requests
from tests.support.cluster import RealCluster


@dataclass(frozen=True, slots=True)
class AuditedCluster:
    """A cluster and the log of what was read from it."""

    real: RealCluster
    audit_log: Path

    @property
    def port(self) -> int:
        return int(self.real.url.rpartition(":")[2])

    def requests(self) -> Mapping[str, Requests]:
        """The reads so far, by User-Agent."""
        with self.audit_log.open() as lines:
            return count_requests(lines)

    def versions(self, resource: str, namespaces: Sequence[str]) -> dict[str, int]:
        """What the server holds in these namespaces: keys and versions."""
        found = {}
        for namespace in namespaces:
            for item in self.ask("GET", f"/api/v1/namespaces/{namespace}/{resource}")["items"]:
                metadata = item["metadata"]
                found[f"{namespace}/{metadata['name']}"] = int(metadata["resourceVersion"])
        return found

    def delete_all(self, resource: str, namespaces: Sequence[str]) -> None:
        for namespace in namespaces:
            self.ask("DELETE", f"/api/v1/namespaces/{namespace}/{resource}")

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One request as admin; the decoded answer."""
        request = urllib.request.Request(
            self.real.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.real.admin_token}",
                "Content-Type": "application/json",
                "User-Agent": "faults-harness",
            },
        )
        context = self.real.ssl_context()
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return json.load(answer)


@contextmanager
def audited_cluster(namespaces: Sequence[str]) -> Iterator[AuditedCluster]:
    """One that has these namespaces, until the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "policy.json"
        policy.write_text(json.dumps(AUDIT_POLICY))
        audit_log = Path(folder) / "audit.log"
        options = (
            f"--audit-policy-file={policy}",
            f"--audit-log-path={audit_log}",
            # SIGTERM ends watches; otherwise the server waits until they end by themselves.
            "--shutdown-watch-termination-grace-period=2s",
        )
        with RealCluster(apiserver_options=options) as real:
            cluster = AuditedCluster(real, audit_log)
            for name in namespaces:
                cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
            yield cluster
