"""Authentication by bearer token, and authorization."""

from __future__ import annotations

from collections.abc import Mapping

from kinform.testing import api_errors
from kinform.testing.api_errors import QualifiedName
from kinform.testing.interception import Call
from kinform.testing.requests import RequestTarget
from kinform.testing.server._pages import HEALTH_PATHS

ANONYMOUS = "system:anonymous"
# The paths that anonymous users may access.
_OPEN_PATHS = frozenset({*HEALTH_PATHS, "/version"})


class AccessControl:
    """The users of a server. ``tokens`` maps tokens to users; ``None`` disables authentication."""

    def __init__(self, tokens: Mapping[str, str] | None) -> None:
        self.tokens = None if tokens is None else dict(tokens)

    def authenticate(self, call: Call) -> str:
        """Return the user of a request; anonymous if it has no credentials.

        Raises:
            UnauthorizedError: The credentials are unknown.
        """
        if self.tokens is None:
            return ANONYMOUS
        scheme, _, token = call.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return ANONYMOUS
        user = self.user_of(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise api_errors.unauthorized()
        return user

    def user_of(self, token: str) -> str | None:
        """Return the user of a token, or ``None`` if the token is unknown."""
        return (self.tokens or {}).get(token)

    def authorize(self, call: Call, target: RequestTarget, user: str) -> None:
        """Refuse anonymous users almost everything, and allow everything to others.

        Raises:
            ForbiddenError: The user is anonymous.
        """
        if self.tokens is None or user != ANONYMOUS:
            return
        if target.gvr is None:
            if call.path not in _OPEN_PATHS:
                raise api_errors.forbidden_path(user, call.method.lower(), call.path)
            return
        scope = (
            f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
        )
        resource = target.gvr.resource
        if target.subresource:
            resource += f"/{target.subresource}"
        raise api_errors.forbidden(
            QualifiedName(target.gvr.group, target.gvr.resource),
            target.name,
            f'User "{user}" cannot {target.verb} resource "{resource}" '
            f'in API group "{target.gvr.group}" {scope}',
        )
