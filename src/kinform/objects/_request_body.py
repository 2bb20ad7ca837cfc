"""Request bodies, validated against the models.

Structs and caches accept any values; only the objects that are sent to a server are validated, so
that reading costs nothing.
"""

from __future__ import annotations

from kinform.errors import DecodeError, EncodeError
from kinform.objects._codec import JSON, Codec
from kinform.objects._handle import Handle
from kinform.objects._typed import TypedObject


def request_body(obj: Handle, codec: Codec = JSON) -> bytes:
    """Encode an object, and check that all parts that were accessed can be decoded again.

    Parts that were not accessed are sent unchanged.

    Raises:
        EncodeError: A value cannot be encoded in this format or has the wrong type; the message
            names its path.
    """
    payload = obj.to_bytes(codec)
    if isinstance(obj, TypedObject) and obj.record is None:
        for part in [obj.parts[name] for name in obj._parts]:
            try:
                codec.decode_parts(payload, part.alone)
            except DecodeError as error:
                raise EncodeError(f"{obj!r}: {error}") from error.__cause__
    return payload
