from __future__ import annotations

import pytest

from gridner.view.duration import duration


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (29.4, "29 s"), (31, "1 min"), (59 * 60, "59 min"), (3599, "1 h 0 min"), (7500, "2 h 5 min")],
)
def test_a_duration_is_said_in_what_matters(seconds: float, said: str) -> None:
    assert duration(seconds) == said
