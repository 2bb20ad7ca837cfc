"""What pyproject.toml has no settled word for: the module in C."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        # Optional: where there is no C compiler, kinform is installed without it, and is slower.
        Extension("kinform._native._cuts", ["src/kinform/_native/_cuts.c"], optional=True)
    ]
)
