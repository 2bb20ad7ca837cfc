"""HTTP transport to a cluster: configuration, credentials, requests and response streams."""

from kinform._runtime import Demand, ReadOutcome
from kinform.transport._aiohttp import AiohttpTransport
from kinform.transport._base import Request, Response, Transport
from kinform.transport._config import ClusterConfig
from kinform.transport._credentials import (
    Anonymous,
    BasicAuth,
    ClientCertificate,
    CombinedCredentials,
    Credentials,
    StaticToken,
    TokenFile,
)
from kinform.transport._exec_plugin import ExecPlugin
from kinform.transport._impersonation import Impersonation
from kinform.transport._pem import CertificatePair, PemSource
from kinform.transport._rate_limit import TokenBucket

__all__ = [
    "AiohttpTransport",
    "Anonymous",
    "BasicAuth",
    "CertificatePair",
    "ClientCertificate",
    "ClusterConfig",
    "CombinedCredentials",
    "Credentials",
    "Demand",
    "ExecPlugin",
    "Impersonation",
    "PemSource",
    "ReadOutcome",
    "Request",
    "Response",
    "StaticToken",
    "TokenBucket",
    "TokenFile",
    "Transport",
]
