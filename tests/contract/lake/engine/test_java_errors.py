"""What is told of Java's errors, by a JVM that has Iceberg and no Spark."""

from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from py4j.java_gateway import JavaGateway

from syncmgr.errors import SyncError
from syncmgr.lake.spark.jvm import Java, asked
from tests.support import jvm

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
