"""Responds to review requests about identity and permissions, which are not stored.

Authenticated users may do everything, so all permissions are granted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinform.testing.resources import ServedResource

Json = dict[str, Any]

# The permissions of every user.
_ALL_RULES: Json = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def is_review(served: ServedResource) -> bool:
    """Whether a resource is a review, which can be created but not read again."""
    return served.kind.endswith("Review") and served.verbs == ("create",)


def review(
    served: ServedResource, review_request: Json, user: str, identify: Callable[[str], str | None]
) -> Json:
    """Return the review with its result. ``identify`` returns the user of a token."""
    match served.kind:
        case "SelfSubjectReview":
            status: Json = {"userInfo": _user_info(user)}
        case "TokenReview":
            token = (review_request.get("spec") or {}).get("token", "")
            found = identify(token)
            status = (
                {"user": {}}
                if found is None
                else {
                    "authenticated": True,
                    "user": _user_info(found),
                }
            )
        case "SelfSubjectRulesReview":
            status = _ALL_RULES
        case _:
            status = {"allowed": True}
    response: Json = {
        "kind": served.kind,
        "apiVersion": served.api_version,
        "metadata": review_request.get("metadata") or {},
    }
    if "spec" in review_request:
        response["spec"] = review_request["spec"]
    return {**response, "status": status}


def _user_info(user: str) -> Json:
    return {"username": user, "groups": ["system:authenticated"]}
