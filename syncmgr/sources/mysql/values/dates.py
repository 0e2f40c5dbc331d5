"""Dates and times in the binlog's own encoding -> an Arrow array, vectorised.

Owns: the encoding of these types, and which of their values Arrow cannot hold.
Must not know: events, rows, tables.
"""

from typing import Final

import numpy as np
import pyarrow as pa

from syncmgr.job.types.cells import Bools, Ints
from syncmgr.job.types.schema import SourceColumn
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.values.cells import Cells, array, of_labels
from syncmgr.sources.mysql.values.table_map import Field

MICRO: Final = (1, 100_000, 10_000, 1_000, 100, 10, 1)  # microseconds of the last digit of a fraction
SCALE: Final = (0, 10_000, 10_000, 100, 100, 1, 1)  # the same for the stored integer, with an even number of digits
MONTH_DAYS: Final = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 0, 0, 0])
NO_DATE: Final = "there is no such date"


def days(year: Ints, month: Ints, day: Ints) -> Ints:
    """Days since 1970-01-01 of the proleptic Gregorian calendar."""
    year = year - (month <= 2)
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days: Ints = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    return days


def no_date(year: Ints, month: Ints, day: Ints) -> Bools:
    leap = (month == 2) & (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    last = MONTH_DAYS[month] + leap
    bad: Bools = (year == 0) | (year > 9999) | (day == 0) | (day > last)
    return bad


def date(_column: SourceColumn, _field: Field, cells: Cells) -> pa.Array:
    stored = cells.little(3)
    year, month, day = stored >> 9, stored >> 5 & 15, stored & 31
    valid = cells.holding(no_date(year, month, day), lambda i: f"{year[i]:04d}-{month[i]:02d}-{day[i]:02d}", NO_DATE)
    return array(pa.date32(), days(year, month, day).astype(np.int32), valid)


def datetime(_column: SourceColumn, field: Field, cells: Cells) -> pa.Array:
    if field.code == wire.DATETIME:
        stored = cells.read("<u8").astype(np.int64)
        date, clock = stored // 1_000_000, stored % 1_000_000
        year, month, day = date // 10_000, date // 100 % 100, date % 100
        hour, minute, second = clock // 10_000, clock // 100 % 100, clock % 100
    else:
        stored = cells.big(5) & 0x7FFFFFFFFF
        months = stored >> 22
        year, month, day = months // 13, months % 13, stored >> 17 & 31
        hour, minute, second = stored >> 12 & 31, stored >> 6 & 63, stored & 63
    month = np.minimum(month, 15)

    def shown(i: int) -> str:
        return f"{year[i]:04d}-{month[i]:02d}-{day[i]:02d} {hour[i]:02d}:{minute[i]:02d}:{second[i]:02d}"

    bad = no_date(year, month, day) | (hour > 23) | (minute > 59) | (second > 59)
    valid = cells.holding(bad, shown, NO_DATE)
    seconds = days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
    return array(pa.timestamp("us"), seconds * 1_000_000 + _fraction(field, cells, 5), valid)


def timestamp(_column: SourceColumn, field: Field, cells: Cells) -> pa.Array:
    seconds = cells.read("<u4").astype(np.int64) if field.code == wire.TIMESTAMP else cells.big(4)
    micros = seconds * 1_000_000 + _fraction(field, cells, 4)
    valid = cells.holding(micros == 0, lambda _: "0000-00-00 00:00:00", NO_DATE)
    return array(pa.timestamp("us", "UTC"), micros, valid)


def _fraction(field: Field, cells: Cells, shift: int) -> Ints | int:
    if not field.meta:
        return 0
    return cells.big((field.meta + 1) // 2, shift) * SCALE[field.meta]


def time(_column: SourceColumn, field: Field, cells: Cells) -> pa.Array:
    """MySQL prints every hour with two digits or more, and as many digits of the fraction as declared."""
    different, of = np.unique(_micros(field, cells), return_inverse=True)
    texts = pa.array([_time_text(int(value), field.meta) for value in different], pa.string())
    return of_labels(of, texts, cells.valid)


def _micros(field: Field, cells: Cells) -> Ints:
    if field.code == wire.TIME:
        stored = cells.little(3)
        stored -= (stored >> 23) << 24
        size = np.abs(stored)
        micros: Ints = np.sign(stored) * ((size // 10_000 * 3600 + size // 100 % 100 * 60 + size % 100) * 1_000_000)
        return micros
    width = (field.meta + 1) // 2
    stored = cells.big(3 + width) - (0x800000 << (8 * width))
    size = np.abs(stored)
    clock, fraction = size >> (8 * width), (size & ((1 << (8 * width)) - 1)) * SCALE[field.meta]
    seconds = (clock >> 12 & 1023) * 3600 + (clock >> 6 & 63) * 60 + (clock & 63)
    micros = np.sign(stored) * (seconds * 1_000_000 + fraction)
    return micros  # noqa: RET504 - numpy calls it Any


def _time_text(micros: int, digits: int) -> str:
    seconds, fraction = divmod(abs(micros), 1_000_000)
    text = f"{'-' if micros < 0 else ''}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction // MICRO[digits]:0{digits}d}" if digits else text
