import re
from pathlib import Path

import pytest

from syncmgr.config import settings
from syncmgr.errors import Code, SyncError

ROOT = Path(__file__).parents[3]
CONF = Path("/srv/syncmgr/conf/fe.conf")


def read(text: str) -> settings.Settings:
    return settings.read_bytes(text.encode(), CONF)


def test_an_empty_file_means_the_defaults() -> None:
    """Every key has a default; Doris' keys have Doris' defaults."""
    values = read("")
    expected = {
        "query_port": 9030,
        "sync_commit_interval_second": 10,
        "sync_checker_interval_second": 5,
        "max_sync_task_threads_num": 10,
        "min_sync_commit_size": 10000,
        "min_bytes_sync_commit": 15 * 1024 * 1024,
        "max_bytes_sync_commit": 64 * 1024 * 1024,
        "label_keep_max_second": 259200,
    }
    assert expected == {name: values[name] for name in expected}


def test_every_mistake_is_told_with_its_line() -> None:
    """A wrong file is refused whole, with all its mistakes at once."""
    text = "qury_port = 9030\n\n# fine\nquery_port = 99999\nlog_level\nmax_retry = many\nmax_retry=3\nmax_retry=4\n"
    with pytest.raises(SyncError) as raised:
        read(text)
    assert raised.value.code is Code.BAD_CONFIG
    assert str(raised.value).splitlines() == [
        f"{CONF}: line 1: unknown key 'qury_port'; did you mean 'query_port'?",
        f"{CONF}: line 4: Config 'query_port' cannot be '99999': a port is between 1 and 65535",
        f"{CONF}: line 5: expected 'key = value', found 'log_level'",
        f"{CONF}: line 6: Config 'max_retry' cannot be 'many': it must be a whole number",
        f"{CONF}: line 8: key 'max_retry' is set twice, first in line 7",
    ]


def test_a_line_that_cannot_be_read_tells_no_password() -> None:
    """Of a line without `=` the first word is told: the next one may be what nobody else may read."""
    with pytest.raises(SyncError, match="found 'root_password'") as raised:
        read("root_password hunter2\n")
    assert "hunter2" not in str(raised.value)


def test_the_keys_that_hold_secrets_are_known() -> None:
    """Where they are set: root's password, the metadata's URL, and what Spark's names say of themselves."""
    text = "root_password = a\nspark.hadoop.fs.s3a.secret.key = b\nspark.x.password =\nspark.driver.memory = 1g\n"
    assert read(text).secrets() == ["root_password", "spark.hadoop.fs.s3a.secret.key"]
    assert read("").secrets() == []


def test_a_line_in_another_encoding_hides_no_other_mistake() -> None:
    """Each line is read by itself, and Latin-1 is not guessed at; a byte order mark is no mistake."""
    with pytest.raises(SyncError) as raised:
        settings.read_bytes(b"qury_port = 1\n# caf\xe9\nroot_password = caf\xe9\r\nmax_retry = x\n", CONF)
    assert str(raised.value).splitlines() == [
        f"{CONF}: line 1: unknown key 'qury_port'; did you mean 'query_port'?",
        f"{CONF}: line 2: byte 6 is not UTF-8",
        f"{CONF}: line 3: byte 20 is not UTF-8",
        f"{CONF}: line 4: Config 'max_retry' cannot be 'x': it must be a whole number",
    ]
    assert settings.read_bytes(b"\xef\xbb\xbfquery_port = 9031\n", CONF).number("query_port") == 9031
    assert settings.read_bytes("root_password = a\u2028b".encode(), CONF).text("root_password") == "a\u2028b"


@pytest.mark.parametrize("name", ["lake_dir", "meta_dir", "staging_dir", "log_dir"])
def test_a_url_is_no_folder(name: str) -> None:
    """A store that is no folder is refused at start, before a folder of that name is made."""
    with pytest.raises(SyncError, match=f"'{name}' cannot be 's3a://bucket/x': it must be a folder of this machine"):
        read(f"{name} = s3a://bucket/x")


def test_a_url_of_a_lake_is_told_what_to_set() -> None:
    """Whoever has a lake in an object store brings its catalog."""
    with pytest.raises(SyncError, match=r"set catalog_type, catalog_uri and catalog_warehouse"):
        read("lake_dir = s3a://bucket/x")


def test_a_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    """Who starts for the first time has none."""
    with pytest.raises(SyncError, match="--print-conf prints one"):
        settings.read(tmp_path / "fe.conf")


def test_the_log_names_what_was_set() -> None:
    """Every key that is not at its default; never a secret, nor what Spark was given."""
    text = "log_level = DEBUG\nroot_password = hidden\nquery_port = 9030\nspark.hadoop.fs.s3a.secret.key = hidden"
    assert read(text).given() == "root_password = ***, log_level = DEBUG, spark.hadoop.fs.s3a.secret.key"


def test_a_relative_folder_stands_beside_the_folder_of_fe_conf() -> None:
    """The frontend may be started from anywhere."""
    assert read("lake_dir = data").folder("lake_dir") == Path("/srv/syncmgr/data")
    assert read("lake_dir = /lake").folder("lake_dir") == Path("/lake")


def test_spark_keys_are_passed_on() -> None:
    """Any key of Spark or of an Iceberg catalog goes through as it is."""
    assert read("spark.driver.memory = 2g").spark == {"spark.driver.memory": "2g"}


CATALOG = "catalog_type = jdbc\ncatalog_uri = jdbc:postgresql://there/lake\ncatalog_warehouse = s3://b/w\n"


@pytest.mark.parametrize("master", ["local[*]", "local[2]", "yarn", "spark://a:7077", "spark://a.b:7077,[::1]:7078"])
def test_a_master_of_spark(master: str) -> None:
    """That of a cluster comes with a catalog whose tables executors reach."""
    assert read(f"{CATALOG}spark.master = {master}").spark["spark.master"] == master


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f"{CATALOG}spark.master = spark://a", "spark.master"),
        (f"{CATALOG}spark.master = spark://a:7077,b", "spark.master"),
        ("spark.master = spark://a:7077", "spark.master"),
        (f"{CATALOG}spark.submit.deployMode = cluster", "spark.submit.deployMode"),
    ],
)
def test_a_cluster_that_cannot_work_is_an_error(text: str, key: str) -> None:
    """At the start, with the key that is wrong: not with the first commit."""
    with pytest.raises(SyncError, match=re.escape(key)):
        read(text)


def test_a_mutable_setting_changes_live_and_others_do_not() -> None:
    """ADMIN SET FRONTEND CONFIG changes what may change, and says what to do about the rest."""
    values = read("")
    values.set({"sync_commit_interval_second": "0.5"})
    assert values.seconds("sync_commit_interval_second") == 0.5
    with pytest.raises(SyncError, match=r"set it in conf/fe\.conf and restart"):
        values.set({"query_port": "9031"})
    with pytest.raises(SyncError, match="did you mean 'max_retry'"):
        values.set({"max_retries": "1"})
    with pytest.raises(SyncError, match="it must be a number"):
        values.set({"sync_commit_interval_second": "nan"})


@pytest.mark.parametrize("wrong", [{"max_retry": "x"}, {"query_port": "9031"}, {"max_retries": "1"}])
def test_of_several_settings_all_are_changed_or_none(wrong: dict[str, str]) -> None:
    """Whoever sees an error may count on nothing being set."""
    values = read("")
    with pytest.raises(SyncError):
        values.set({"sync_commit_interval_second": "0.5", **wrong})
    assert values.seconds("sync_commit_interval_second") == 10
    values.set({"sync_commit_interval_second": "0.5", "max_retry": "7"})
    assert (values.seconds("sync_commit_interval_second"), values.number("max_retry")) == (0.5, 7)


def test_show_hides_secrets() -> None:
    """SHOW FRONTEND CONFIG prints no password."""
    rows = {row[0]: row[1] for row in read("root_password = s3cret").rows()}
    assert rows["root_password"] == "********"


def test_the_shipped_file_is_generated() -> None:
    """conf/fe.conf lists every key with its default, and reads back as the defaults."""
    text = (ROOT / "conf" / "fe.conf").read_text()
    assert text == settings.conf_text()
    assert "#query_port = 9030" in text
    assert read(text).rows() == read("").rows()
    uncommented = "\n".join(line.removeprefix("#") for line in text.splitlines() if not line.startswith("# "))
    assert read(uncommented).rows() == read("").rows()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("sync_commit_interval_second = \u0663", "it must be a number"),
        ("max_jobs = \u0663", "it must be a whole number"),
        ("sync_commit_interval_second = 0", "it must be at least 0.05"),
        ("max_staged_bytes = 0", "it must be at least 1048576"),
    ],
)
def test_a_number_is_one_as_it_is_typed(line: str, reason: str) -> None:
    """In ASCII; so is the bound that it passes."""
    with pytest.raises(SyncError, match=reason):
        read(line)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("spark.sql.session.timeZone = Europe/Berlin", "it is always UTC, else expressions"),
        ("spark.sql.ansi.enabled = false", "it is always true, else a value that does not fit"),
        ("spark.sql.parquet.outputTimestampType = INT96", "it is always TIMESTAMP_MICROS"),
        ("spark.sql.catalog.lake.cache-enabled = true", "it is always false"),
        ("spark.sql.legacy.timeParserPolicy = LEGACY", "it may not be set"),
        ("spark.wap.branch = audit", "it may not be set: commits would go where no reader looks"),
        ("spark.sql.catalog.lake.uri = jdbc:sqlite:/tmp/c.db", "'spark.sql.catalog.lake.uri' changes the embedded"),
    ],
)
def test_keys_of_spark_that_decide_values_are_refused(line: str, why: str) -> None:
    """Rows would have other values without a word; the message says which key, why and what to do."""
    with pytest.raises(SyncError) as raised:
        read(line)
    assert raised.value.code is Code.BAD_CONFIG
    assert line.partition(" ")[0] in str(raised.value)
    assert why in str(raised.value)
    assert "leave it out" in str(raised.value)


def test_keys_of_spark_that_say_what_holds_anyway_are_taken() -> None:
    """And those of a catalog of the operator's own, and of another catalog."""
    own = "spark.sql.catalog.lake.type = rest\nspark.sql.catalog.lake.uri = http://there\n"
    read(
        "spark.sql.session.timeZone = UTC\nspark.sql.ansi.enabled = TRUE\nspark.sql.catalog.lakehouse.type = rest\n"
        + own
    )


def test_what_is_too_long_for_a_name_has_no_nearest_one() -> None:
    """A client may ask for a database by megabytes, which would be compared for a second each time."""
    assert "orders" in settings.did_you_mean("ordrs", ["orders"])
    assert settings.did_you_mean("x" * 257, ["x" * 256]) == ""


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('"abc" # x', "a comment is a line of its own, which begins with #"),
        ("abc\t# x", "a comment is a line of its own, which begins with #"),
        ('"abc"', "it is written without quotes, which would be a part of it"),
        ("'abc'", "it is written without quotes, which would be a part of it"),
    ],
)
def test_quotes_and_comments_are_no_part_of_a_value(value: str, reason: str) -> None:
    """They would be, as in Doris' fe.conf, so that nobody could log in with the password that was meant."""
    with pytest.raises(SyncError) as raised:
        read(f"root_password = {value}")
    assert str(raised.value) == f"{CONF}: line 1: Config 'root_password' cannot be '***': {reason}"
    assert read("root_password = a#b'c\"").text("root_password") == "a#b'c\""


@pytest.mark.parametrize("value", ["htps://chat/hooks/key", "https://chat/hooks/key x", "https://chat/hooks/k\u00e9y"])
def test_nothing_of_a_secret_that_is_wrong_is_shown(value: str) -> None:
    """At the start and by ADMIN SET: whoever knows the URL of the webhook can send there."""
    reason = "it must be an http:// or https:// URL, in ASCII and without blanks"
    with pytest.raises(SyncError) as raised:
        read(f"alert_webhook = {value}")
    assert str(raised.value) == f"{CONF}: line 1: Config 'alert_webhook' cannot be '***': {reason}"
    with pytest.raises(SyncError, match=r"cannot be '\*\*\*'"):
        read("").set({"alert_webhook": value})
    assert read("alert_webhook = https://chat/hooks/key?a=1#b").text("alert_webhook").endswith("key?a=1#b")


@pytest.mark.parametrize("value", ["2gb", "many", "1024", "64m", "-2g", "1.5g"])
def test_a_heap_that_no_jvm_takes_is_refused_at_start(value: str) -> None:
    """With the name of the key, in place of a JVM that does not start."""
    with pytest.raises(SyncError, match=r"'spark.driver.memory' cannot be .* such as 2048m or 4g"):
        read(f"spark.driver.memory = {value}")
    assert read("spark.driver.memory = 2G").spark == {"spark.driver.memory": "2G"}
