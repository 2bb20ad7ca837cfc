"""The object model: objects are stored as bytes and decoded on demand."""

from __future__ import annotations

from kinform.objects._codec import JSON, PARTIAL_JSON, Codec, JsonCodec, head_decoder
from kinform.objects._frozen import FrozenDict, FrozenList, freeze, thaw
from kinform.objects._frozen_fields import FrozenItems, FrozenValues, freezer, frozen
from kinform.objects._handle import Handle
from kinform.objects._head import Head, OwnerUid
from kinform.objects._model import Always, FieldsV1, MicroTime, Model
from kinform.objects._model_trees import alternatives
from kinform.objects._part import Part
from kinform.objects._part_groups import PartGroup
from kinform.objects._partial import PartialObjectMetadata
from kinform.objects._paths import Path, split_path, step_into
from kinform.objects._quantity import Quantity
from kinform.objects._read_only import plain_class, read_only_class, read_only_type
from kinform.objects._record import METADATA, Record
from kinform.objects._request_body import request_body
from kinform.objects._tree_handle import TreeHandle
from kinform.objects._typed import TypedObject
from kinform.objects._unstructured import Unstructured

__all__ = [
    "JSON",
    "METADATA",
    "PARTIAL_JSON",
    "Always",
    "Codec",
    "FieldsV1",
    "FrozenDict",
    "FrozenItems",
    "FrozenList",
    "FrozenValues",
    "Handle",
    "Head",
    "JsonCodec",
    "MicroTime",
    "Model",
    "OwnerUid",
    "Part",
    "PartGroup",
    "PartialObjectMetadata",
    "Path",
    "Quantity",
    "Record",
    "TreeHandle",
    "TypedObject",
    "Unstructured",
    "alternatives",
    "freeze",
    "freezer",
    "frozen",
    "head_decoder",
    "plain_class",
    "read_only_class",
    "read_only_type",
    "request_body",
    "split_path",
    "step_into",
    "thaw",
]
