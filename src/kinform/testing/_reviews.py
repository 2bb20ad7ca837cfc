"""Questions about identity and rights in, answers out. Nothing of it is stored.

Everybody with a name may do everything, so every question about rights is answered yes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinform.testing._resources import ServedResource

Json = dict[str, Any]

# What anybody's rights are.
_ALL_RULES: Json = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def is_review(served: ServedResource) -> bool:
    """Whether objects of a resource are questions: they can be asked, and not be found again."""
    return served.kind.endswith("Review") and served.verbs == ("create",)


def review(
    served: ServedResource, question: Json, user: str, identify: Callable[[str], str | None]
) -> Json:
    """The question with its answer. ``identify`` finds the user of a token."""
    match served.kind:
        case "SelfSubjectReview":
            status: Json = {"userInfo": _user_info(user)}
        case "TokenReview":
            token = (question.get("spec") or {}).get("token", "")
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
    answer: Json = {
        "kind": served.kind,
        "apiVersion": served.api_version,
        "metadata": question.get("metadata") or {},
    }
    if "spec" in question:
        answer["spec"] = question["spec"]
    return {**answer, "status": status}


def _user_info(user: str) -> Json:
    return {"username": user, "groups": ["system:authenticated"]}
