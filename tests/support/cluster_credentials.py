"""A folder in, the keys, certificates, tokens and kubeconfig of a test cluster out."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

import trustme
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

VIEWERS = "kinform:viewers"


def _token() -> str:
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who may do what: ``admin`` everything, ``viewer`` read everything, ``nobody`` nothing."""

    folder: Path
    admin_token: str = field(default_factory=_token, repr=False)
    viewer_token: str = field(default_factory=_token, repr=False)
    nobody_token: str = field(default_factory=_token, repr=False)

    @classmethod
    def create(cls, folder: Path) -> Credentials:
        """Write every file but the kubeconfig, which needs the server's address."""
        made = cls(folder)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(made.ca_file))
        serving = authority.issue_cert("127.0.0.1", "localhost")
        _write_pair(serving, made.serving_cert, made.serving_key)
        # Without any other name the certificate is one that Go refuses to verify.
        admin = authority.issue_cert(
            "admin.invalid", common_name="admin-by-cert", organization_name="system:masters"
        )
        _write_pair(admin, made.client_cert, made.client_key)
        _write_signing_key(made.signing_key)
        made.token_file.write_text(
            f"{made.admin_token},admin,uid-admin,system:masters\n"
            f"{made.viewer_token},viewer,uid-viewer,{VIEWERS}\n"
            f"{made.nobody_token},nobody,uid-nobody,\n"
        )
        made.token_file.chmod(0o600)
        return made

    @property
    def ca_file(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def serving_cert(self) -> Path:
        return self.folder / "serving.crt"

    @property
    def serving_key(self) -> Path:
        return self.folder / "serving.key"

    @property
    def client_cert(self) -> Path:
        return self.folder / "admin.crt"

    @property
    def client_key(self) -> Path:
        return self.folder / "admin.key"

    @property
    def signing_key(self) -> Path:
        return self.folder / "service-accounts.key"

    @property
    def token_file(self) -> Path:
        return self.folder / "tokens.csv"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    def write_kubeconfig(self, url: str) -> None:
        """One cluster, and a context for each way of being somebody; ``admin`` is current."""
        users: dict[str, dict[str, str]] = {
            "admin": {"token": self.admin_token},
            "admin-by-cert": {
                "client-certificate": str(self.client_cert),
                "client-key": str(self.client_key),
            },
            "viewer": {"token": self.viewer_token},
            "nobody": {"token": self.nobody_token},
        }
        cluster = {"server": url, "certificate-authority": str(self.ca_file)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": name, "user": user} for name, user in users.items()],
            "contexts": [
                {"name": name, "context": {"cluster": "real", "user": name}} for name in users
            ],
            "current-context": "admin",
        }
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(yaml.safe_dump(config, sort_keys=False))


def _write_pair(pair: trustme.LeafCert, cert: Path, key: Path) -> None:
    pair.cert_chain_pems[0].write_to_path(str(cert))
    key.touch(mode=0o600)
    pair.private_key_pem.write_to_path(str(key))


def _write_signing_key(path: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
