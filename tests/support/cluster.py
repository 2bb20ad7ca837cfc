"""Binaries in, a real Kubernetes API server out: etcd and kube-apiserver on loopback.

Everything lives in one temporary folder and ends with the ``with`` block, or with the
process. There are no controllers, no scheduler and no nodes.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.cluster_credentials import VIEWERS, Credentials
from tests.support.cluster_process import PortTakenError, ServerProcess, StartError, free_port
from tools import cluster_binaries

_FOLDER_PREFIX = "kinform-cluster-"
_PORT_ATTEMPTS = 5
# Where kube-apiserver's own compactor says what it has compacted; its caches follow it.
_COMPACTED_KEY = "compact_rev_key"


class RealCluster:
    """A kube-apiserver on its etcd. Blocking: use it as a context manager.

    ``compact``, ``stop_apiserver`` and the like change it for everybody who shares it.

    Args:
        apiserver_options: Flags for kube-apiserver, after those that it always gets.

    Raises:
        NotBuiltError: The binaries have not been built yet (on entry).
        StartError: A server did not come up (on entry); says what it logged last.
    """

    url: str
    etcd_url: str

    def __init__(self, *, apiserver_options: Sequence[str] = ()) -> None:
        self._apiserver_options = tuple(apiserver_options)

    def __enter__(self) -> Self:
        self._binaries = cluster_binaries.built()
        self.folder = _new_folder()
        self._etcd: ServerProcess | None = None
        self._apiserver: ServerProcess | None = None
        atexit.register(self._tear_down)
        try:
            self.credentials = Credentials.create(self.folder)
            self._tls = ssl.create_default_context(cafile=str(self.ca_file))
            self._start_etcd()
            self._start_apiserver_on_a_free_port()
            self._grant_viewers()
        except BaseException:
            self._tear_down()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tear_down()

    @property
    def ca_file(self) -> Path:
        return self.credentials.ca_file

    @property
    def admin_token(self) -> str:
        """Of a user in ``system:masters``."""
        return self.credentials.admin_token

    @property
    def viewer_token(self) -> str:
        """Of a user who may get, list and watch everything."""
        return self.credentials.viewer_token

    @property
    def nobody_token(self) -> str:
        """Of a user who is known, and allowed nothing."""
        return self.credentials.nobody_token

    @property
    def kubeconfig(self) -> Path:
        """Contexts ``admin`` (current), ``admin-by-cert``, ``viewer``, ``nobody``."""
        return self.credentials.kubeconfig

    @property
    def client_cert(self) -> Path:
        """Of a user in ``system:masters``; its key is ``client_key``."""
        return self.credentials.client_cert

    @property
    def client_key(self) -> Path:
        return self.credentials.client_key

    def ssl_context(self) -> ssl.SSLContext:
        """A fresh client context that trusts this server."""
        return ssl.create_default_context(cafile=str(self.ca_file))

    def compact(self) -> int:
        """Make etcd forget all history before now; the revision it was compacted at.

        What kube-apiserver reads from etcd (``events``, which it does not cache) is expired
        at once. Its caches notice within 15 s, and keep their watch window until a restart.
        """
        key = base64.b64encode(_COMPACTED_KEY.encode()).decode()
        revision = int(self._ask_etcd("kv/range", key=key)["header"]["revision"])
        value = base64.b64encode(str(revision).encode()).decode()
        self._ask_etcd("kv/put", key=key, value=value)
        self._ask_etcd("kv/compaction", revision=str(revision), physical=True)
        return revision

    def apiserver_cpu(self) -> float:
        """Seconds of CPU that kube-apiserver has used since it was started."""
        assert self._apiserver is not None
        return self._apiserver.cpu_seconds

    def stop_apiserver(self) -> None:
        """Every connection ends; the data stays in etcd."""
        if self._apiserver is not None:
            self._apiserver.stop(grace=20.0)
            self._apiserver = None

    def kill_apiserver(self) -> None:
        """End it with SIGKILL; the data stays in etcd."""
        if self._apiserver is not None:
            self._apiserver.kill()
            self._apiserver = None

    def start_apiserver(self) -> None:
        """Start it again at the same address; returns when it is ready."""
        if self._apiserver is None:
            self._apiserver = self._launch_apiserver()

    def restart_apiserver(self) -> None:
        """Same address, same data; its watch caches start anew, without history."""
        self.stop_apiserver()
        self.start_apiserver()

    def save(self) -> Path:
        """Return a copy of etcd's data, for ``restore``. Both servers are restarted."""
        self.kill_apiserver()
        self._stop_etcd()
        saved = Path(tempfile.mkdtemp(prefix="saved-", dir=self.folder))
        shutil.copytree(self._etcd_folder, saved, dirs_exist_ok=True)
        self._launch_etcd()
        self.start_apiserver()
        return saved

    def restore(self, saved: Path) -> None:
        """Go back to saved data, and to its resource versions. Both servers are restarted."""
        self.kill_apiserver()
        self._stop_etcd()
        shutil.rmtree(self._etcd_folder)
        shutil.copytree(saved, self._etcd_folder)
        self._launch_etcd()
        self.start_apiserver()

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What ``kubectl`` printed, as admin.

        Raises:
            subprocess.CalledProcessError: It failed; ``stderr`` says why.
        """
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)}
        done = subprocess.run(
            [self._binaries / "kubectl", *arguments],
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    @property
    def _etcd_folder(self) -> Path:
        return self.folder / "etcd"

    def _start_etcd(self) -> None:
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            self._peer_url = f"http://127.0.0.1:{free_port()}"
            self.etcd_url = f"http://127.0.0.1:{free_port()}"
            shutil.rmtree(self._etcd_folder, ignore_errors=True)
            try:
                self._launch_etcd()
            except PortTakenError:
                if attempt == _PORT_ATTEMPTS:
                    raise
            else:
                return

    def _launch_etcd(self) -> None:
        command: list[str | Path] = [
            self._binaries / "etcd",
            "--name=kinform",
            f"--data-dir={self._etcd_folder}",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls={self._peer_url}",
            f"--initial-advertise-peer-urls={self._peer_url}",
            f"--initial-cluster=kinform={self._peer_url}",
            "--unsafe-no-fsync",
        ]
        self._etcd = ServerProcess(command, log=self.folder / "etcd.log")
        self._etcd.wait_until(self._etcd_is_healthy, timeout=30)

    def _stop_etcd(self) -> None:
        if self._etcd is not None:
            self._etcd.stop()
            self._etcd = None

    def _start_apiserver_on_a_free_port(self) -> None:
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            self.url = f"https://127.0.0.1:{free_port()}"
            try:
                self._apiserver = self._launch_apiserver()
            except PortTakenError:
                if attempt == _PORT_ATTEMPTS:
                    raise
            else:
                self.credentials.write_kubeconfig(self.url)
                return

    def _launch_apiserver(self) -> ServerProcess:
        process = ServerProcess(self._apiserver_command(), log=self.folder / "kube-apiserver.log")
        try:
            process.wait_until(self._apiserver_is_ready, timeout=90)
        except StartError:
            process.kill()
            raise
        return process

    def _apiserver_command(self) -> list[str | Path]:
        credentials = self.credentials
        return [
            self._binaries / "kube-apiserver",
            f"--etcd-servers={self.etcd_url}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.url.rpartition(':')[2]}",
            f"--cert-dir={self.folder}",
            f"--tls-cert-file={credentials.serving_cert}",
            f"--tls-private-key-file={credentials.serving_key}",
            f"--client-ca-file={credentials.ca_file}",
            f"--token-auth-file={credentials.token_file}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={credentials.signing_key}",
            f"--service-account-signing-key-file={credentials.signing_key}",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--runtime-config=api/all=true",
            "--allow-privileged=true",
            # It wants a service account, which a controller would make, in each pod's namespace.
            "--disable-admission-plugins=ServiceAccount",
            # The `kubernetes` service would be given our loopback address as its endpoint.
            "--endpoint-reconciler-type=none",
            *self._apiserver_options,
        ]

    def _grant_viewers(self) -> None:
        """The built-in role ``view`` is empty here: a controller would fill it."""
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        rules = [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
            {"nonResourceURLs": ["*"], "verbs": ["get"]},
        ]
        self._post(f"{rbac}/clusterroles", {"metadata": {"name": VIEWERS}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": VIEWERS}
        group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": VIEWERS}
        binding = {"metadata": {"name": VIEWERS}, "roleRef": role, "subjects": [group]}
        self._post(f"{rbac}/clusterrolebindings", binding)

    def _post(self, path: str, body: Mapping[str, Any]) -> None:
        request = urllib.request.Request(
            self.url + path,
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.admin_token}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, context=self._tls, timeout=10):
            pass

    def _ask_etcd(self, method: str, **fields: Any) -> Any:
        """One call through etcd's JSON gateway; keys and values are base64 there."""
        request = urllib.request.Request(
            f"{self.etcd_url}/v3/{method}", data=json.dumps(fields).encode()
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def _etcd_is_healthy(self) -> bool:
        return _answers_ok(f"{self.etcd_url}/health")

    def _apiserver_is_ready(self) -> bool:
        return _answers_ok(f"{self.url}/readyz", tls=self._tls)

    def _tear_down(self) -> None:
        # Nobody will read the data again, so there is nothing to end gracefully.
        for process in (self._apiserver, self._etcd):
            if process is not None:
                process.kill()
        self._apiserver = self._etcd = None
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self._tear_down)


def _new_folder() -> Path:
    """A temporary folder that names its owner; those of owners who crashed are removed."""
    for stale in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*-*"):
        owner = stale.name.removeprefix(_FOLDER_PREFIX).partition("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            shutil.rmtree(stale, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_FOLDER_PREFIX}{os.getpid()}-"))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _answers_ok(url: str, *, tls: ssl.SSLContext | None = None) -> bool:
    try:
        with urllib.request.urlopen(url, context=tls, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
