"""The server's rules for names, to detect errors before a request is sent."""

from __future__ import annotations

import re

from kinform.errors import SelectorError

_KIND = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
_RESOURCE = re.compile(r"[a-z0-9_][a-z0-9._:-]*")
_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_DNS_SUBDOMAIN = re.compile(rf"{_DNS_LABEL.pattern}(\.{_DNS_LABEL.pattern})*")
# Only selectors use these, so they are compiled on first use.
_LABEL_PART = r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"
_FIELD = r"[^\s!=,\\]+"


def is_dns_label(text: object) -> bool:
    """Report whether ``text`` is lower-case letters, digits and inner dashes, at most 63."""
    return isinstance(text, str) and len(text) <= 63 and bool(_DNS_LABEL.fullmatch(text))


def is_dns_subdomain(text: object) -> bool:
    """Report whether ``text`` is labels of any length joined by dots, 253 characters at most."""
    return isinstance(text, str) and len(text) <= 253 and bool(_DNS_SUBDOMAIN.fullmatch(text))


def is_resource(text: object) -> bool:
    """Report whether ``text`` can be a resource in a URL: lower case, without URL delimiters.

    CRD names are stricter, but metrics servers name resources after metrics.
    """
    return isinstance(text, str) and len(text) <= 253 and bool(_RESOURCE.fullmatch(text))


def is_kind(text: object) -> bool:
    """Report whether ``text`` is a letter followed by letters, digits, ``.``, ``_`` or ``-``."""
    return isinstance(text, str) and bool(_KIND.fullmatch(text))


def is_field(text: object) -> bool:
    """Report whether a field selector can name ``text``: no spaces, and no operators."""
    return isinstance(text, str) and bool(re.fullmatch(_FIELD, text))


def check_label_key(key: str) -> None:
    """Raise SelectorError unless ``key`` is a valid label key: ``name`` or ``prefix/name``."""
    if not isinstance(key, str):
        raise SelectorError(f"label key {key!r} must be a string")
    prefix, slash, name = key.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        raise SelectorError(f"label key {key!r}: the part before '/' must be a DNS subdomain")
    if len(name) > 63 or not re.fullmatch(_LABEL_PART, name):
        raise SelectorError(
            f"label key {key!r}: the name must have 1 to 63 letters, digits, '-', '_' or '.', "
            "and begin and end with a letter or digit"
        )


def check_label_value(value: str, *, of: str) -> None:
    """Raise SelectorError unless ``value`` is empty or a valid label value."""
    if not isinstance(value, str):
        raise SelectorError(f"label {of!r}: value {value!r} must be a string")
    if value and (len(value) > 63 or not re.fullmatch(_LABEL_PART, value)):
        raise SelectorError(
            f"label {of!r}: value {value!r} must be empty, or have up to 63 letters, digits, "
            "'-', '_' or '.', and begin and end with a letter or digit"
        )
