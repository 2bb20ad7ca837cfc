"""Builds whatever the tests with a real server use, before they start.

    python -m tools.build_programs     # or `make programs`

One line for each program: that it is cached, or that it is being built and how long it took. The
tests build nothing, and name this step if something is missing. What cannot be built is reported;
the exit status is 1 only if ``KINFORM_REQUIRE_CLUSTER=1`` demands it.
"""

from __future__ import annotations

import os
import sys

from tools import cluster_binaries, golden_files
from tools.go import CannotBuildError, say
from tools.go_programs import PROGRAMS


def main() -> int:
    failed = False
    # The small ones first, so that a missing toolchain is known at once.
    builds = (
        golden_files.download,
        *(each.build for each in PROGRAMS),
        cluster_binaries.build,
        cluster_binaries.build_controller_manager,
    )
    for build in builds:
        try:
            build()
        except CannotBuildError as problem:
            say(f"cannot build: {problem}")
            failed = True
    return 1 if failed and os.environ.get("KINFORM_REQUIRE_CLUSTER") == "1" else 0


if __name__ == "__main__":
    sys.exit(main())
