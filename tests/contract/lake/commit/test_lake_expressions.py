"""What a job's expressions may cost, as Spark's analysis shows it."""

import time

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.expression_bounds import unbounded, uncheckable
from syncmgr.lake.commit.expressions import Bounds, _check, node_of
from syncmgr.lake.lake import Lake
from syncmgr.lake.spark import jvm
from tests.support.spark_session import SPARK, Tables

pytestmark = SPARK
TAKEN = (
    ("`v` LIKE 'a%'", "BOOLEAN"),
    ("`v` LIKE '%a\\\\%b_%' OR `v` ILIKE '%b'", "BOOLEAN"),
    ("`v` RLIKE '^[A-Z]{2}[0-9]+$'", "BOOLEAN"),
    ("CONCAT(LPAD(CAST(`n` AS STRING), 10, '0'), REPEAT('-', 3), REPLACE(`v`, 'a', 'bb'))", "STRING"),
    ("CASE WHEN `v` = '${x}' THEN CONCAT_WS(',', `v`, `v`) WHEN `n` IN (1, 2, 3) THEN NULL ELSE `v` END", "STRING"),
    ("IF(TYPEOF(`n`) IN ('double') OR TYPEOF(`n`) LIKE 'decimal%', BROUND(`n`), CAST(`n` AS BIGINT))", "BIGINT"),
    ("SUBSTRING(`v`, 2, 3)", "STRING"),
    ("LEFT(MD5(GET_JSON_OBJECT(`v`, '$.a')), 5)", "STRING"),
    ("TRIM(`v`)", "STRING"),
    ("DATE_FORMAT(CAST(`v` AS TIMESTAMP), 'yyyy-MM')", "STRING"),
)
TAKEN_FUNCTIONS = (
    "SIZE(ARRAY(`v`)), GREATEST(`n`, 1)",
    "`v` || 'x', UPPER(`v`), LOWER(`v`), INITCAP(`v`), CONCAT_WS('-', `v`, `n`), LENGTH(`v`)",
    "LEFT(`v`, 3), RIGHT(`v`, 3), SUBSTRING(`v`, 2), SUBSTRING_INDEX(`v`, ',', 1), REPLACE(`v`, CHR(10), ' ')",
    "LTRIM(`v`), RTRIM(`v`), TRIM(BOTH 'x' FROM `v`), LPAD(`v`, 5, '0'), RPAD(`v`, 5), REPEAT(`v`, 2), SPACE(3)",
    "INSTR(`v`, 'a'), LOCATE('a', `v`), POSITION('a' IN `v`), ASCII(`v`), REVERSE(`v`), TRANSLATE(`v`, 'a', 'b')",
    "FIND_IN_SET('a', `v`), ELT(`n`, 'a', 'b'), HEX(`v`), UNHEX(`v`), BASE64(CAST(`v` AS BINARY)), SOUNDEX(`v`)",
    "CONTAINS(`v`, 'a'), STARTSWITH(`v`, 'a'), ENDSWITH(`v`, 'a'), OVERLAY(`v` PLACING 'x' FROM 2), URL_ENCODE(`v`)",
    "MD5(`v`), SHA1(`v`), SHA2(`v`, 256), CRC32(CAST(`v` AS BINARY)), XXHASH64(`v`, `n`), HASH(`v`)",
    "ENCODE(`v`, 'utf-8'), DECODE(CAST(`v` AS BINARY), 'utf-8'), CHR(`n`), BIT_LENGTH(`v`), OCTET_LENGTH(`v`)",
    "`n` + 1, `n` - 1, `n` * 2, `n` / 2, `n` DIV 2, `n` % 2, MOD(`n`, 2), -`n`, ABS(`n`), SIGN(`n`), ROUND(`x`, 1)",
    "CEIL(`x`), FLOOR(`x`), TRUNC(`d`, 'MM'), BROUND(`x`, 1), SQRT(`x`), POWER(`x`, 2), EXP(`x`), LN(`x`), LOG(2, `x`)",
    "LOG2(`x`), LOG10(`x`), SIN(`x`), ATAN2(`x`, 1), DEGREES(`x`), RADIANS(`x`), PI(), CONV(`v`, 16, 10), BIN(`n`)",
    "`n` & 1, `n` | 1, `n` ^ 1, ~`n`, SHIFTLEFT(`n`, 1), SHIFTRIGHT(`n`, 1), BIT_COUNT(`n`), LEAST(1, `n`)",
    "IF(`n` > 1, 'a', 'b'), IFNULL(`v`, ''), NULLIF(`v`, ''), COALESCE(`v`, 'a'), NVL2(`v`, 1, 2), ISNULL(`v`)",
    "CASE `n` WHEN 1 THEN 'a' ELSE 'b' END, `n` BETWEEN 1 AND 2, `n` IN (1, 2), `v` IS NOT NULL, NOT `n` <=> 1",
    "YEAR(`d`), QUARTER(`d`), MONTH(`d`), DAY(`d`), DAYOFWEEK(`d`), WEEKDAY(`d`), DAYOFYEAR(`d`), WEEKOFYEAR(`d`)",
    "HOUR(`t`), MINUTE(`t`), SECOND(`t`), EXTRACT(YEAR FROM `t`), DATE(`t`), LAST_DAY(`d`), NEXT_DAY(`d`, 'MON')",
    "`d` + INTERVAL 1 DAY, `t` - INTERVAL 1 HOUR, DATE_ADD(`d`, 1), DATE_SUB(`d`, 1), ADD_MONTHS(`d`, 1), `d` - `d`",
    "DATEDIFF(`d`, `d`), TIMESTAMPDIFF(HOUR, `t`, `t`), TIMESTAMPADD(DAY, 1, `t`), MONTHS_BETWEEN(`t`, `t`), `t` - `t`",
    "DATE_FORMAT(`t`, 'yyyy'), TO_DATE(`v`, 'yyyy-MM-dd'), TO_TIMESTAMP(`v`), DATE_TRUNC('HOUR', `t`), DAYNAME(`d`)",
    "FROM_UNIXTIME(`n`), TO_UNIX_TIMESTAMP(`v`), UNIX_SECONDS(`t`), TIMESTAMP_SECONDS(`n`), UNIX_DATE(`d`)",
    "MAKE_DATE(`n`, 1, 1), MAKE_TIMESTAMP(`n`, 1, 1, 0, 0, 0), TO_UTC_TIMESTAMP(`t`, 'CET')",
    "FROM_UTC_TIMESTAMP(`t`, 'CET'), ISNAN(`x`), TYPEOF(`n`)",
    "CAST(`n` AS DECIMAL(10, 2)), CAST(`t` AS STRING), TRY_CAST(`v` AS INT), TRY_ADD(`n`, 1), TRY_DIVIDE(`n`, 2)",
    "GET_JSON_OBJECT(`v`, '$.a'), JSON_ARRAY_LENGTH(`v`), CAST(LEFT(`v`, 200) AS DECIMAL(10, 2)), CEIL(`x`, 1)",
    "CAST(CAST(`v` AS DOUBLE) AS DECIMAL(10, 2)), CAST(`n` + 1 AS DECIMAL(10, 2)), ROUND(`x`, -2)",
    "ELEMENT_AT(ARRAY(`v`, 'b'), 1), ARRAY_CONTAINS(ARRAY(`v`), 'a')",
)
REFUSED = (
    ("CAST(`v` AS DECIMAL(10, 2)) = 1", "write CAST(LEFT(v, 200) AS DECIMAL(...))"),
    ("`v` + CAST(1 AS DECIMAL(10, 2)) = 1 OR CAST(CONCAT(`v`, '1') AS DECIMAL(38, 0)) = 1", "a text that becomes"),
    ("ROUND(CAST(`n` AS DOUBLE), 300000000) = 1", "between -38 and 38"),
    ("from_json(`v`, 'a DECIMAL(10,2)').a = 1", "(FROM_JSON)"),
    ("soundex(split_part(`v`, ',', 1)) = ''", "none of the functions that an expression may use"),
    ("array_distinct(array(`v`))[0] = ''", "none of the functions that an expression may use"),
    ("INSTR(`v`, concat(`v`, 'x')) = 1", "at most 200 characters"),
    ("`v` LIKE '%a\\\\%b%' ESCAPE '|'", "LIKE needs a literal pattern"),
    ("concat(repeat('a', 300), `v`) LIKE concat(repeat('%a', 60), 'b')", "LIKE needs a literal pattern"),
    ("`v` NOT LIKE '%a%b'", "LIKE needs a literal pattern"),
    ("`v` ILIKE '%a%b%'", "LIKE needs a literal pattern"),
    ("`v` LIKE ANY ('%a%b%', 'a')", "LIKE needs a literal pattern"),
    ("`v` RLIKE '(a+)+b'", "a regular expression must be a literal"),
    ("regexp_replace(`v`, '(a+)+b', '') = ''", "only RLIKE"),
    ("regexp_extract(`v`, '(a+)+b', 1) = ''", "only RLIKE"),
    ("regexp_count(`v`, '(a+)+b') = 1", "only RLIKE"),
    ("regexp_substr(`v`, '(a+)+b') = ''", "only RLIKE"),
    ("split(`v`, '(a+)+b')[0] = ''", "only RLIKE"),
    ("str_to_map(`v`, ',', '(a+)+b')['a'] = ''", "only RLIKE"),
    ("`v` = repeat(`v`, 2000000000)", "100 times as long"),
    ("`v` = repeat(`v`, `n`)", "must be a literal number"),
    ("`v` = space(2000000000)", "1048576 characters"),
    ("`v` = lpad(`v`, 2000000000, 'x')", "1048576 characters"),
    ("`v` = rpad(`v`, `n`, 'x')", "must be a literal number"),
    ("`v` = replace(replace(`v`, 'a', repeat('a', 9)), 'a', 'aa')", "must be a literal, not computed"),
    ("`v` = hex(hex(hex(hex(hex(hex(hex(`v`)))))))", "100 times as long"),
    ("size(sequence(1, 1000000000)) = 1", "as many elements"),
    ("size(array_repeat(`v`, 1000000000)) = 1", "as many elements"),
    ("reduce(array(1, 2), `v`, (x, y) -> concat(x, x)) = ''", "in a loop"),
    ("transform(array(1, 2), x -> repeat(`v`, x))[0] = ''", "in a loop"),
    ("levenshtein(`v`, `v`) = 1", "square"),
    ("format_string('%2000000000d', 1) = `v`", "CONCAT and LPAD"),
)
COMPUTED_BY_ANALYSIS = (  # which would not end, or take all memory
    ("BROUND(`n`, IF(REPEAT('a', 300) LIKE CONCAT(REPEAT('%a', 60), 'b'), 1, 2)) = 1", "between -38 and 38"),
    ("SCHEMA_OF_CSV(REPEAT('a', 2000000000)) = ''", "(SCHEMA_OF_CSV)"),
)
NEVER = (
    "reflect('java.lang.System', 'getenv', 'HOME') = `v`",
    "java_method('java.lang.System', 'getenv', 'HOME') = `v`",
    "input_file_name() = `v`",
    "uuid() = `v`",
    "`v` IN (SELECT 'a')",
    "`n` = (SELECT count(*) FROM lake.a.b)",
    "`n` > (SELECT max(`n`) FROM csv.`/etc/passwd`)",
    "CAST(`v` AS DATE) = CAST('today' AS DATE)",
    "CAST(`v` AS TIMESTAMP) > ' NOW'",
    "CAST(`v` AS TIMESTAMP_NTZ) BETWEEN 'yesterday' AND 'tomorrow CET'",
    "TO_DATE('today') = `v`",
    "TO_TIMESTAMP('now') > CAST(`v` AS TIMESTAMP)",
    "YEAR('now') = `n`",
    "DATEDIFF('tomorrow', `v`) = 0",
    "CAST(CONCAT('no', 'w') AS TIMESTAMP) > CAST(`v` AS TIMESTAMP)",
)
OF_ONE_TIME = (
    "CAST(`v` AS DATE) = CAST('2024-01-01' AS DATE)",
    "`v` = 'today'",
    "CAST(IF(`n` = 1, '2024-01-01', `v`) AS DATE) IS NULL",
    "CAST(CAST(0 AS TIMESTAMP) AS DATE) < MAKE_DATE(`n`, 1, 1)",
    "CAST(MAKE_DATE(2024, 1, 1) AS TIMESTAMP) < CAST(`v` AS TIMESTAMP)",
    "TO_DATE(`v`) = '2024-01-01'",
)


@pytest.mark.parametrize("expression", NEVER)
def test_what_is_no_function_of_the_row_is_refused_whoever_is_trusted(lake: Lake, expression: str) -> None:
    """Methods of Java, files, other tables, and what is different each time."""
    relation = lake.iceberg().spark.sql("SELECT CAST(NULL AS STRING) AS v, CAST(NULL AS INT) AS n")
    with pytest.raises(SyncError) as caught:
        _check(relation, expression, "BOOLEAN", trusts=True)
    assert caught.value.code is Code.BAD_EXPRESSION


def test_a_moment_that_is_always_the_same_is_taken(lake: Lake) -> None:
    """Whatever a text that is not compared with one says."""
    relation = lake.iceberg().spark.sql("SELECT CAST(NULL AS STRING) AS v, CAST(NULL AS INT) AS n")
    for expression in OF_ONE_TIME:
        _check(relation, expression, "BOOLEAN")


def test_only_bounded_expressions_are_taken(lake: Lake) -> None:
    """What takes time without end, or memory without bound, is refused with what to write; what people write is not,
    nor anything where the operator trusts who may write it.
    """
    relation = lake.iceberg().spark.sql("SELECT CAST(NULL AS STRING) AS v, CAST(NULL AS INT) AS n")
    for expression, kind in TAKEN:
        _check(relation, expression, kind)
    for expression, reason in REFUSED:
        with pytest.raises(SyncError) as caught:
            _check(relation, expression, "BOOLEAN")
        _check(relation, expression, "BOOLEAN", trusts=True)
        assert caught.value.code is Code.BAD_EXPRESSION
        assert reason in str(caught.value), expression


def test_what_spark_computes_while_it_analyzes_is_refused_before(lake: Lake) -> None:
    """The digits of a rounding, and schemas, whatever stands there."""
    relation = lake.iceberg().spark.sql("SELECT CAST(NULL AS STRING) AS v, CAST(NULL AS INT) AS n")
    for expression, reason in COMPUTED_BY_ANALYSIS:
        with pytest.raises(SyncError) as caught:
            _check(relation, expression, "BOOLEAN")
        assert caught.value.code is Code.BAD_EXPRESSION
        assert reason in str(caught.value), expression


@pytest.mark.parametrize("listed", TAKEN_FUNCTIONS)
def test_the_functions_that_people_use_are_taken(lake: Lake, listed: str) -> None:
    """By the names that docs/sql.md lists, as Spark's analysis resolves them."""
    relation = lake.iceberg().spark.sql(
        "SELECT CAST(NULL AS STRING) AS v, CAST(NULL AS INT) AS n, CAST(NULL AS DOUBLE) AS x, CAST(NULL AS DATE) AS d,"
        " CAST(NULL AS TIMESTAMP) AS t"
    )
    for each in parts_of(listed):
        assert uncheckable(node_of(jvm.parsed(relation.sparkSession, each), "")) is None
    plan = jvm.analyzed(relation.selectExpr(*parts_of(listed)))
    assert [unbounded(node_of(each, "\\")) for each in plan.computed] == [None] * len(plan.computed)


def parts_of(listed: str) -> list[str]:
    """Expressions between commas of no bracket."""
    parts, depth = [""], 0
    for character in listed:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


@pytest.mark.parametrize("where", [None, pytest.param("`a` LIKE '%x%y%'", marks=pytest.mark.slow)])
def test_what_an_older_job_computes_is_refused_before_it_is(tables: Tables, where: str | None) -> None:
    """A job of a version that asked less: its commit ends with the reason and the setting, and nothing is written;
    where the operator trusts who may write such, it goes on. What is bounded is looked at once.
    """
    text = "regexp_replace(`a`, '(x+)+y', '')" if where is None else "upper(`a`)"
    table = tables.make(
        "(id BIGINT NOT NULL, v STRING) UNIQUE KEY(id)",
        ("id", "a"),
        expressions={"id": "`id`", "v": text},
        types={"a": pa.string()},
        where=where,
    )
    epoch = table.prepared([(0, 1, "xzy")])
    with pytest.raises(SyncError, match="unbounded_expressions = ON") as caught:
        table.apply(epoch)
    assert caught.value.code is Code.BAD_EXPRESSION
    assert table.rows() == []
    table.lake._bounds, strict = Bounds(trusts=True), table.lake._bounds
    try:
        table.apply(epoch)
    finally:
        table.lake._bounds = strict
    assert table.rows() == [(1, "xzy" if where is None else "XZY")]


@pytest.mark.parametrize("trusts", [False, True])
def test_what_an_older_job_computes_is_no_matter_of_when(tables: Tables, *, trusts: bool) -> None:
    """Whoever may write such: a row that is committed again after a crash would get another value."""
    table = tables.make(
        "(id BIGINT NOT NULL, v BOOLEAN) UNIQUE KEY(id)",
        ("id", "a"),
        expressions={"id": "`id`", "v": "CAST(`a` AS DATE) = CAST('today' AS DATE)"},
        types={"a": pa.string()},
    )
    table.lake._bounds, own = Bounds(trusts=trusts), table.lake._bounds
    try:
        with pytest.raises(SyncError, match="another time whenever it is computed; the job was made before") as caught:
            table.apply(table.prepared([(0, 1, "2026-01-01")]))
    finally:
        table.lake._bounds = own
    assert caught.value.code is Code.BAD_EXPRESSION
    assert table.rows() == []


@pytest.mark.parametrize("value", [" " * 200_000 + "x", "value " * 300_000])
def test_the_error_of_a_long_value_is_told_at_once(tables: Tables, value: str) -> None:
    """Spark quotes the value of a row, which may have any length; searching it would hold up all other jobs."""
    table = tables.make(
        "(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)",
        ("id", "a"),
        expressions={"id": "`id`", "v": "CAST(`a` AS BIGINT)"},
        types={"a": pa.string()},
    )
    epoch, begun = table.prepared([(0, 1, value)]), time.process_time()
    with pytest.raises(SyncError, match="cannot be cast to BIGINT") as caught:
        table.apply(epoch)
    assert caught.value.code is Code.SOURCE_VALUE
    assert len(str(caught.value)) < 20_000
    assert time.process_time() - begun < 10
