import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.types.number_text import double_text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (100.0, "100.0"),
        (1e14, "100000000000000.0"),
        (1e15, "1e15"),
        (123456789012345.6, "123456789012345.6"),
        (2839734145287251.5, "2839734145287251.5"),
        (-1234567890123456.8, "-1234567890123456.8"),
        (1234567890123456.0, "1.234567890123456e15"),
        (1.5e300, "1.5e300"),
        (1e-14, "0.00000000000001"),
        (1e-15, "0.000000000000001"),
        (1e-16, "1e-16"),
        (-1.25e-20, "-1.25e-20"),
        (5e-324, "5e-324"),
    ],
)
def test_doubles_are_printed_as_mysql_prints_them(value: float, shown: str) -> None:
    """Shortest digits, an exponent only beyond 15 places."""
    assert double_text(value) == shown


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_double_is_the_double(value: float) -> None:
    """Reading the text gives the value back, its sign too."""
    back = float(double_text(value))
    assert back == value
    assert math.copysign(1, back) == math.copysign(1, value)
