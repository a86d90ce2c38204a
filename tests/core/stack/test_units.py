from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.stack import units


@pytest.mark.parametrize(
    ("text", "seconds"), [("45m", 2700), ("90s", 90), ("1h30m", 5400), ("500ms", 0.5), ("1.5h", 5400), ("2d", 172800)]
)
def test_durations(text: str, seconds: float) -> None:
    assert units.duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "count"), [("64GiB", 64 << 30), ("500MB", 500_000_000), ("96 GiB", 96 << 30), ("7B", 7)]
)
def test_sizes(text: str, count: int) -> None:
    assert units.size(text) == count


@pytest.mark.parametrize(("text", "value"), [("2%", 0.02), ("99.5%", 0.995), ("0.02", 0.02)])
def test_shares(text: str, value: float) -> None:
    assert units.share(text) == pytest.approx(value)


@pytest.mark.parametrize("given_", [45, None, True, "", "45", "m", "4 m", "5 minutes", "-5s", "1h 30m"])
def test_a_duration_without_a_clear_unit_is_refused(given_: object) -> None:
    with pytest.raises(ValueError, match="expected a duration like"):
        units.duration(given_)


@pytest.mark.parametrize("given_", [2, "2", "0%", "100%", "200%", "0.0", "-1%", "two"])
def test_a_share_outside_of_its_range_is_refused(given_: object) -> None:
    with pytest.raises(ValueError, match="expected a share"):
        units.share(given_)


@given(st.integers(1, 10**7))
def test_written_durations_read_back(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    assert units.duration(units.duration_text(seconds)) == pytest.approx(seconds)


@given(st.integers(0, 1 << 45))
def test_written_sizes_read_back(count: int) -> None:
    assert units.size(units.size_text(count)) == count
