"""What a job's expressions may cost, as Spark's analysis shows it."""

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.lake.commit.expressions import Bounds, _check
from syncmgr.lake.lake import Lake
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
REFUSED = (
    ("`v` LIKE '%a\\\\%b%' ESCAPE '|'", "LIKE needs a written pattern"),
    ("concat(repeat('a', 300), `v`) LIKE concat(repeat('%a', 60), 'b')", "LIKE needs a written pattern"),
    ("`v` NOT LIKE '%a%b'", "LIKE needs a written pattern"),
    ("`v` ILIKE '%a%b%'", "LIKE needs a written pattern"),
    ("`v` LIKE ANY ('%a%b%', 'a')", "LIKE needs a written pattern"),
    ("`v` RLIKE '(a+)+b'", "a regular expression must be written"),
    ("regexp_replace(`v`, '(a+)+b', '') = ''", "only RLIKE"),
    ("regexp_extract(`v`, '(a+)+b', 1) = ''", "only RLIKE"),
    ("regexp_count(`v`, '(a+)+b') = 1", "only RLIKE"),
    ("regexp_substr(`v`, '(a+)+b') = ''", "only RLIKE"),
    ("split(`v`, '(a+)+b')[0] = ''", "only RLIKE"),
    ("str_to_map(`v`, ',', '(a+)+b')['a'] = ''", "only RLIKE"),
    ("`v` = repeat(`v`, 2000000000)", "100 times as long"),
    ("`v` = repeat(`v`, `n`)", "must be a written number"),
    ("`v` = space(2000000000)", "1048576 characters"),
    ("`v` = lpad(`v`, 2000000000, 'x')", "1048576 characters"),
    ("`v` = rpad(`v`, `n`, 'x')", "must be a written number"),
    ("`v` = replace(replace(`v`, 'a', repeat('a', 9)), 'a', 'aa')", "must be written, not computed"),
    ("`v` = hex(hex(hex(hex(hex(hex(hex(`v`)))))))", "100 times as long"),
    ("size(sequence(1, 1000000000)) = 1", "as many elements"),
    ("size(array_repeat(`v`, 1000000000)) = 1", "as many elements"),
    ("reduce(array(1, 2), `v`, (x, y) -> concat(x, x)) = ''", "in a loop"),
    ("transform(array(1, 2), x -> repeat(`v`, x))[0] = ''", "in a loop"),
    ("levenshtein(`v`, `v`) = 1", "square"),
    ("format_string('%2000000000d', 1) = `v`", "CONCAT and LPAD"),
)
NEVER = (
    "reflect('java.lang.System', 'getenv', 'HOME') = `v`",
    "java_method('java.lang.System', 'getenv', 'HOME') = `v`",
    "input_file_name() = `v`",
    "uuid() = `v`",
    "`v` IN (SELECT 'a')",
    "`n` = (SELECT count(*) FROM lake.a.b)",
    "`n` > (SELECT max(`n`) FROM csv.`/etc/passwd`)",
)


@pytest.mark.parametrize("expression", NEVER)
def test_what_is_no_function_of_the_row_is_refused_whoever_is_trusted(lake: Lake, expression: str) -> None:
    """Methods of Java, files, other tables, and what is different each time."""
    relation = lake.iceberg().spark.sql("SELECT CAST(NULL AS STRING) AS v, CAST(NULL AS INT) AS n")
    with pytest.raises(SyncError) as caught:
        _check(relation, expression, "BOOLEAN", trusts=True)
    assert caught.value.code is Code.BAD_EXPRESSION


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


@pytest.mark.parametrize("where", [None, "`a` LIKE '%x%y%'"])
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
