"""What pyproject.toml has no settled word for: the modules in C."""

from setuptools import Extension, setup

_NATIVE = "src/kinform/_native"

setup(
    ext_modules=[
        # Optional: where there is no C compiler, kinform is installed without it, and is slower.
        Extension(
            f"kinform._native.{name}",
            [f"{_NATIVE}/{name}.c"],
            depends=[f"{_NATIVE}/_wire.h"],
            optional=True,
        )
        for name in ("_framing", "_structs")
    ]
)
