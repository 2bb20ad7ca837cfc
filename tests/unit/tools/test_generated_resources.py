"""The resources of the embedded server; tests/cluster compares them with a real one."""

from __future__ import annotations

import hashlib
import re

from tools.generate_resources import OUTPUT


def test_the_file_was_not_edited_after_it_was_generated() -> None:
    text = OUTPUT.read_text(encoding="utf-8")
    head, _, body = text.partition('\n"""\n\n')
    digest = re.search(r"[0-9a-f]{64}$", head)

    assert digest is not None
    assert hashlib.sha256(body.encode()).hexdigest() == digest[0]
