"""A machine that others use is found slower than one of our own; a promise never becomes stricter."""

import time

from tests.harness.pace import Pace


def test_seconds_never_become_shorter_and_are_asked_for_more_than_once() -> None:
    with Pace() as pace:
        time.sleep(0)
        allowed_s = pace.fair(2.0)

    assert allowed_s >= 2.0
    assert pace.fair(4.0) == 2 * allowed_s
