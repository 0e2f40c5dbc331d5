"""Numbers as MySQL prints them in JSON.

Owns: the text of a double.
Must not know: how JSON is stored or sent.
"""

from typing import Final

FIXED_POINT_DIGITS: Final = 15  # beyond them MySQL prints an exponent, unless there are digits after the point


def double_text(value: float) -> str:
    """The shortest digits that denote the value; an exponent only if no digits follow the point, or only far after
    it.
    """
    plain = repr(value)
    if len(plain) <= FIXED_POINT_DIGITS and "e" not in plain and plain[-1].isdigit():
        return plain  # most values, in a tenth of the time
    mantissa, _, exponent = plain.lower().partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if not digits:
        return sign + "0.0"
    if point <= -FIXED_POINT_DIGITS or FIXED_POINT_DIGITS < point >= len(digits):
        tail = digits[1:] and "." + digits[1:]
        return f"{sign}{digits[0]}{tail}e{point - 1}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
