"""The functions and operators that an expression of a job may use.

Owns: their names in Spark's plans, in groups, and in SQL.
Must not know: what they cost beside each other, when the lists are asked.

Expressions run in the JVM in which all jobs commit, so this says what may, not what may not: a function of a later
Spark is refused until it has been reviewed. Each takes time, and returns a value, that grows only with the values
that it reads, or has a rule of its own in `expression_bounds`.
"""

from typing import Final

_PARTS: Final = frozenset({
    *("Literal", "AttributeReference", "Alias", "TypedNullLiteral", "Cast", "With", "CommonExpressionDef"),
    *("CommonExpressionRef", "BinaryPredicate", "TryEval", "KnownNullable", "KnownNotNull", "CheckOverflow"),
})  # fmt: skip
_CONDITIONS: Final = frozenset({
    *("And", "Or", "Not", "EqualTo", "EqualNullSafe", "EqualNull", "LessThan", "LessThanOrEqual", "GreaterThan"),
    *("GreaterThanOrEqual", "Between", "In", "InSet", "IsNull", "IsNotNull", "IsNaN", "CaseWhen", "If", "Coalesce"),
    *("Greatest", "Least", "NullIf", "Nvl", "Nvl2", "IfNull", "NaNvl", "NullIfZero", "ZeroIfNull", "TypeOf"),
    *("Like", "ILike", "RLike", "Contains", "StartsWith", "EndsWith"),
})  # fmt: skip
_NUMBERS: Final = frozenset({
    *("Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder", "Pmod", "UnaryMinus", "UnaryPositive"),
    *("TryAdd", "TrySubtract", "TryMultiply", "TryDivide", "TryMod", "Abs", "Signum", "Round", "BRound", "Ceil"),
    *("RoundCeil", "Floor", "RoundFloor", "Rint", "Sqrt", "Cbrt", "Pow", "Exp", "Expm1", "Log", "Log10", "Log1p"),
    *("Log2", "Logarithm", "Hypot", "Sin", "Sinh", "Asin", "Asinh", "Cos", "Cosh", "Acos", "Acosh", "Tan", "Tanh"),
    *("Atan", "Atanh", "Atan2", "Cot", "Sec", "Csc", "Pi", "EulerNumber", "ToDegrees", "ToRadians", "Factorial"),
    *("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitwiseCount", "BitwiseGet", "ShiftLeft"),
    *("ShiftRight", "ShiftRightUnsigned", "Conv", "Bin", "WidthBucket"),
})  # fmt: skip
_MOMENTS: Final = frozenset({
    *("AddMonths", "ConvertTimezone", "DateAdd", "DateAddInterval", "DateAddYMInterval", "DateDiff"),
    *("DateFormatClass", "DateFromUnixDate", "DateSub", "DatetimeSub", "DayName", "DayOfMonth", "DayOfWeek"),
    *("DayOfYear", "DivideDTInterval", "DivideYMInterval", "Extract", "ExtractANSIIntervalDays"),
    *("ExtractANSIIntervalHours", "ExtractANSIIntervalMinutes", "ExtractANSIIntervalMonths"),
    *("ExtractANSIIntervalSeconds", "ExtractANSIIntervalYears", "FromUTCTimestamp", "FromUnixTime", "GetTimestamp"),
    *("Hour", "LastDay", "MakeDTInterval", "MakeDate", "MakeInterval", "MakeTimestamp", "MakeTimestampFromDateTime"),
    *("MakeTimestampNTZ", "MakeYMInterval", "MicrosToTimestamp", "MillisToTimestamp", "Minute", "Month"),
    *("MonthName", "MonthsBetween", "MultiplyDTInterval", "MultiplyYMInterval", "NextDay", "ParseToDate"),
    *("ParseToTimestamp", "Quarter", "Second", "SecondWithFraction", "SecondsToTimestamp", "SubtractDates"),
    *("SubtractTimestamps", "TimeAdd", "TimestampAdd", "TimestampAddInterval", "TimestampAddYMInterval"),
    *("TimestampDiff", "ToUTCTimestamp", "ToUnixTimestamp", "TruncDate", "TruncTimestamp", "TryMakeInterval"),
    *("TryMakeTimestamp", "TryMakeTimestampFromDateTime", "UnixDate", "UnixMicros", "UnixMillis", "UnixSeconds"),
    *("UnixTimestamp", "WeekDay", "WeekOfYear", "Year", "CurrentTimeZone"),
})  # fmt: skip
_TEXTS: Final = frozenset({
    *("Ascii", "Base64", "BinaryPad", "BitLength", "Chr", "Concat", "ConcatWs", "Decode", "Elt", "Encode"),
    *("FindInSet", "Hex", "InitCap", "IsValidUTF8", "Left", "Length", "Lower", "Luhncheck", "MakeValidUTF8"),
    *("OctetLength", "Overlay", "Quote", "Reverse", "Right", "SoundEx", "StringDecode", "StringInstr"),
    *("StringLPad", "StringLocate", "StringRPad", "StringRepeat", "StringReplace", "StringSpace", "StringTranslate"),
    *("StringTrim", "StringTrimBoth", "StringTrimLeft", "StringTrimRight", "Substring", "SubstringIndex"),
    *("UnBase64", "Unhex", "Upper", "UrlDecode", "UrlEncode", "TryUrlDecode"),
    *("Md5", "Sha1", "Sha2", "Crc32", "Murmur3Hash", "XxHash64"),
})  # fmt: skip
_DOCUMENTS: Final = frozenset({
    *("GetJsonObject", "LengthOfJsonArray", "CreateArray", "GetArrayItem", "ElementAt", "Get", "Size", "ArraySize"),
    "ArrayContains",
})  # fmt: skip
TAKEN: Final = _PARTS | _CONDITIONS | _NUMBERS | _MOMENTS | _TEXTS | _DOCUMENTS
SHORT_RESULTS: Final = _NUMBERS | (
    _MOMENTS - {"DateFormatClass", "FromUnixTime"}
)  # whatever they read, their result is short

# The same by the names that SQL has for them: what Spark's analysis computes, as it does some arguments, it computes
# before its result can be looked at.
NAMES: Final = frozenset(
    """
abs acos acosh add_months and array array_contains array_size ascii asin asinh atan atan2 atanh base64 between
bigint bin binary bit_count bit_get bit_length boolean bround btrim cardinality cast cbrt ceil ceiling char
char_length character_length chr coalesce concat concat_ws contains conv convert_timezone cos cosh cot crc32 csc
date date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart
day dayname dayofmonth dayofweek dayofyear decimal decode degrees div double e element_at elt encode endswith
equal_null exp expm1 extract factorial find_in_set float floor from_unixtime from_utc_timestamp get
get_json_object getbit greatest hash hex hour hypot if ifnull ilike in initcap instr int is_valid_utf8 isnan
isnotnull isnull json_array_length last_day lcase least left len length like ln locate log log10 log1p log2
lower lpad ltrim luhn_check make_date make_dt_interval make_interval make_timestamp make_timestamp_ltz
make_timestamp_ntz make_valid_utf8 make_ym_interval md5 minute mod month monthname months_between nanvl negative
next_day not nullif nullifzero nvl nvl2 octet_length or overlay pi pmod position positive pow power quarter
quote radians regexp regexp_like repeat replace reverse right rint rlike round rpad rtrim sec second sha sha1
sha2 shiftleft shiftright shiftrightunsigned sign signum sin sinh size smallint soundex space sqrt startswith
string substr substring substring_index tan tanh timestamp timestamp_micros timestamp_millis timestamp_seconds
tinyint to_date to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp translate trim
trunc try_add try_divide try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz
try_mod try_multiply try_subtract try_to_date try_to_timestamp try_url_decode typeof ucase unbase64 unhex
unix_date unix_micros unix_millis unix_seconds upper url_decode url_encode weekday weekofyear when width_bucket
xxhash64 year zeroifnull
    """.split()  # noqa: SIM905 - two hundred quoted words would not be read
)
