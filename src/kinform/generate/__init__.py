"""Generates typed Python models from schemas, for built-in and custom kinds."""

from __future__ import annotations

from kinform.generate._cluster import read_cluster
from kinform.generate._crd import CustomKind, read_files
from kinform.generate._files import write_files
from kinform.generate._ir import EnumDef, FieldDef, KindDef, ModuleDef, StructDef
from kinform.generate._package import refuse_built_in, render_package
from kinform.generate._render import render_module
from kinform.generate._uses import describe_uses, used_in

__all__ = [
    "CustomKind",
    "EnumDef",
    "FieldDef",
    "KindDef",
    "ModuleDef",
    "StructDef",
    "describe_uses",
    "read_cluster",
    "read_files",
    "refuse_built_in",
    "render_module",
    "render_package",
    "used_in",
    "write_files",
]
