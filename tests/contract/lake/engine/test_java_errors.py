"""What is told of Java's errors, by a JVM that has Iceberg and no Spark."""

from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from py4j.java_gateway import JavaGateway

from syncmgr.console.redaction import without_value
from syncmgr.errors import Code, SyncError
from syncmgr.lake.commit.rows import value_error
from syncmgr.lake.spark.jvm import JAVA_ERRORS, Java, asked, text_of
from tests.support import jvm
from tests.unit.lake.commit.test_rows import CHANNEL, LAYOUT

SPARK = Path(pyspark.__file__).parent / "jars"


@pytest.fixture
def java() -> Iterator[Java]:
    """Its classes."""
    jvm.bring_jars()
    (py4j,) = SPARK.glob("py4j-*.jar")
    jars = ":".join(map(str, (*jvm.JARS.glob("*.jar"), *SPARK.glob("*.jar"))))
    gateway = JavaGateway.launch_gateway(
        classpath=jars, javaopts=["-Xmx256m", jvm.ONE_COMPILER], die_on_exit=True, jarpath=str(py4j)
    )
    yield gateway.jvm
    gateway.shutdown()


@pytest.mark.spark
def test_no_error_has_the_password_of_a_catalog(java: Java) -> None:
    """Iceberg quotes the URI of a catalog that it cannot reach, which Msg and every SELECT would show."""
    told = java.java.util.HashMap()
    told.put("uri", "jdbc:sqlite:/nowhere/c.db?user=a&password=geheim")
    told.put("warehouse", "/nowhere")
    with pytest.raises(SyncError, match=r"/nowhere/c\.db\?user=a") as caught, asked():
        java.org.apache.iceberg.jdbc.JdbcCatalog().initialize("c", told)
    assert "geheim" not in str(caught.value)


@pytest.mark.spark
def test_a_value_for_which_a_condition_fails_is_told_where_it_can_be_cut(java: Java) -> None:
    """In the words of this Spark."""
    with pytest.raises(JAVA_ERRORS) as caught:
        java.org.apache.spark.sql.catalyst.util.UTF8StringUtils.toIntExact(
            java.org.apache.spark.unsafe.types.UTF8String.fromString("DE12"), None
        )
    error = value_error(text_of(caught.value), CHANNEL, LAYOUT)
    assert error is not None
    assert error.code is Code.BAD_EXPRESSION
    assert "'DE12'" in str(error)
    assert "DE12" not in str(without_value(str(error)))
