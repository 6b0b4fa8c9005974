"""Whole numbers in texts."""

import pytest

from stdworker.model.whole import whole


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("07", 7), ("9", 9)])
def test_ascii_digits_are_a_number(text, number):
    assert whole(text, 9) == number


@pytest.mark.parametrize("text", ["", "10", "-1", "+1", " 1", "1.0", "1e0", "1_0", "²", "١", "9" * 5_000])
def test_any_other_text_is_none_whatever_python_makes_of_it(text):
    assert whole(text, 9) is None
