"""Run the tests of compiled code under AddressSanitizer and UndefinedBehaviorSanitizer.

    python -m tools.sanitize [--seconds 60]

Builds an instrumented copy of kinform in a temporary directory, so that nothing instrumented
remains in ``src``. Then runs the tests that call compiled code, and ``tests.support.fuzz_native``
for some seconds. Leak detection is off, because CPython keeps interned strings and types until the
process ends; ``test_nothing_is_kept`` counts references instead.

Without a C compiler, Python's headers or the sanitizers, it prints why and succeeds, unless ``CI``
or ``KINFORM_REQUIRE_CLUSTER`` is set.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NATIVE = Path("kinform") / "_native"
TESTS = (
    "tests/unit/_native",
    "tests/unit/protobuf/test_head_reader.py",
    "tests/unit/protobuf/test_native_readers.py",
    "tests/unit/protobuf/test_partial_message.py",
    "tests/unit/protobuf/test_views.py",
    "tests/unit/client/test_frames.py",
    "tests/unit/client/test_protobuf_wire.py",
    "tests/unit/transport/test_http_body.py",
)
# Compilers must not be instrumented, tests without compiled code would find nothing, and all kinds
# have their fields read by the same code.
DESELECTED = "not without_a_warning and not interpreted and not alpha and not beta"
FLAGS = (
    *("-std=c11", "-O1", "-g", "-fno-omit-frame-pointer", "-fPIC", "-shared"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
)


class MissingToolError(Exception):
    """Something that the sanitizers need is not installed."""


class FailureError(Exception):
    """The instrumented code does not work."""


def main() -> int:
    parser = argparse.ArgumentParser(description="test compiled code under ASan and UBSan")
    parser.add_argument("--seconds", type=float, default=45.0, help="duration of the fuzzing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kinform-sanitize-") as directory:
        try:
            environment = prepare(Path(directory))
        except MissingToolError as problem:
            print(f"sanitize: {problem}", file=sys.stderr)
            is_required = os.environ.get("CI") or os.environ.get("KINFORM_REQUIRE_CLUSTER")
            return 1 if is_required else 0
        except FailureError as failure:
            print(f"sanitize: {failure}", file=sys.stderr)
            return 1
        for command in commands(arguments.seconds):
            print("sanitize:", " ".join(command), flush=True)
            code = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment).returncode
            if code:
                print(f"sanitize: failed with exit code {code}", file=sys.stderr)
                return 1
    return 0


def prepare(directory: Path) -> dict[str, str]:
    """Build an instrumented copy; return the environment in which Python imports it.

    Raises:
        MissingToolError: It cannot be built here.
        FailureError: It was built and does not work.
    """
    compiler = shutil.which((os.environ.get("CC") or "gcc").split()[0])
    include = Path(sysconfig.get_path("include"))
    if compiler is None:
        raise MissingToolError("there is no gcc; set CC to a compiler with sanitizers")
    if not (include / "Python.h").exists():
        raise MissingToolError(f"there is no Python.h in {include}")
    library = _output(compiler, "-print-file-name=libasan.so")
    if not Path(library).is_absolute():
        raise MissingToolError(f"{compiler} has no libasan.so")
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(ROOT / "src" / "kinform", directory / "kinform", ignore=ignored)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for source in sorted((directory / NATIVE).glob("*.c")):
        target = source.with_name(source.stem + suffix)
        subprocess.run(
            [compiler, *FLAGS, f"-I{include}", str(source), "-o", str(target)], check=True
        )
    environment = {
        **{name: value for name, value in os.environ.items() if name != "KINFORM_INTERPRETED"},
        "PYTHONPATH": str(directory),
        "LD_PRELOAD": library,
        # Python's own allocator would hide overflows between its objects.
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    if subprocess.run([sys.executable, "-c", ""], env=environment).returncode:
        raise MissingToolError(f"Python does not run with {library}")
    _check(environment, directory)
    return environment


def _check(environment: dict[str, str], directory: Path) -> None:
    """Check that Python imports and uses the instrumented copy.

    Raises:
        FailureError: It does not, or the first call was already reported by a sanitizer.
    """
    script = "import kinform._native._structs as it, kinform._native as n; print(it.__file__)"
    script += "; print(n.WHY_INTERPRETED)"
    said = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    if said.returncode:
        raise FailureError(f"the instrumented code cannot be imported\n{said.stderr}")
    file, why = said.stdout.splitlines()
    if not Path(file).is_relative_to(directory) or why:
        raise FailureError(f"Python imports {file} instead of the instrumented copy; {why}")


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commands(seconds: float) -> list[list[str]]:
    # Without capturing, so that the reports of the sanitizers are shown.
    options = ("-q", "-x", "-s", "--timeout=300", "-p", "no:cacheprovider", "-k", DESELECTED)
    fuzz = ["-m", "tests.support.fuzz_native", "--seconds", str(seconds)]
    return [["-m", "pytest", *options, *TESTS], fuzz]


if __name__ == "__main__":
    sys.exit(main())
