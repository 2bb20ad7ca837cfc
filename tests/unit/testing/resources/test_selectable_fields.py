"""The values of selectable fields: shared between objects, and not kept for ever."""

from __future__ import annotations

import sys

from kinform.testing.resources._selectable_fields import BUILT_IN_FIELDS, FieldReader


def test_values_are_shared_and_not_interned() -> None:
    """18.23: Python 3.12 never frees an interned string, and every pod has its own address."""
    reader = FieldReader(BUILT_IN_FIELDS["pods"])
    body = b'{"spec":{"nodeName":"node-23"},"status":{"podIP":"10.23.0.23"}}'
    values, again = reader.read(body), reader.read(body)
    address = values[reader.position("status.podIP") or 0]
    assert address == "10.23.0.23"
    assert all(one is other for one, other in zip(values, again, strict=True))
    assert sys.intern(address.encode().decode()) is not address
