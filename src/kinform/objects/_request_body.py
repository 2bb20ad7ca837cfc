"""An object in; the body of a request out, unless something in it is not what its model says.

Structs take whatever they are given, and caches hold what they are given: only what leaves for a
server is looked at, so that reading costs nothing.
"""

from __future__ import annotations

from kinform.errors import DecodeError, EncodeError
from kinform.objects._codec import JSON, Codec
from kinform.objects._handle import Handle
from kinform.objects._typed import TypedObject


def request_body(obj: Handle, codec: Codec = JSON) -> bytes:
    """Its bytes, of which every part that was touched can be read again.

    What nobody touched goes as it came.

    Raises:
        EncodeError: Something in it cannot be written in this form, or is of another type than the
            model says; the message says where.
    """
    payload = obj.to_bytes(codec)
    if isinstance(obj, TypedObject) and obj.record is None:
        for part in [obj.parts[name] for name in obj._parts]:
            try:
                codec.decode_parts(payload, part.alone)
            except DecodeError as error:
                raise EncodeError(f"{obj!r}: {error}") from error.__cause__
    return payload
