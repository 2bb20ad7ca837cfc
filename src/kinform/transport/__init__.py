"""Bytes: requests to a cluster in, body streams out; and how to find and enter the cluster."""

from ._aiohttp import AiohttpTransport
from ._base import Request, Response, Transport
from ._config import ClusterConfig
from ._credentials import (
    Anonymous,
    BasicAuth,
    ClientCertificate,
    CombinedCredentials,
    Credentials,
    StaticToken,
    TokenFile,
)
from ._exec_plugin import ExecPlugin
from ._impersonation import Impersonation
from ._pem import CertificatePair, PemSource

__all__ = [
    "AiohttpTransport",
    "Anonymous",
    "BasicAuth",
    "CertificatePair",
    "ClientCertificate",
    "ClusterConfig",
    "CombinedCredentials",
    "Credentials",
    "ExecPlugin",
    "Impersonation",
    "PemSource",
    "Request",
    "Response",
    "StaticToken",
    "TokenFile",
    "Transport",
]
