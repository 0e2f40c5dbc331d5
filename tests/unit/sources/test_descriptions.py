from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.property import LONGEST_VALUE, Property, filled
from syncmgr.job.tls import Tls
from syncmgr.sources.canal.description import CanalDescription
from syncmgr.sources.mysql.description import MysqlDescription, hosts_of
from syncmgr.sources.registry import described as source_of
from tests.unit.job.factories import make_canal, make_source

GIVEN = {"type": "mysql", "mysql.host": "db1", "mysql.user": "repl", "mysql.password": "s3cret"}

CANAL = {
    "type": "canal",
    "canal.server.ip": "127.0.0.1",
    "canal.server.port": "11111",
    "canal.destination": "example",
    "canal.username": "",
    "canal.password": "",
}


def test_a_source_has_defaults() -> None:
    """Host, user and password are enough; the rest is what an operator expects."""
    source = source_of(GIVEN)
    assert isinstance(source, MysqlDescription)
    assert (source.port, source.start, source.ssl, source.server_id) == (3306, "snapshot", "preferred", 0)
    assert source.address == "db1:3306"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "canl"}, "Property 'type' cannot be 'canl': it must be \"mysql\" or \"canal\""),
        ({"mysql.hots": "x"}, "Unknown property 'mysql.hots' in FROM BINLOG; did you mean 'mysql.host'?"),
        ({"mysql.port": "http"}, "Property 'mysql.port' cannot be 'http': it must be a whole number from 1 to 65535"),
        ({"mysql.port": "0"}, "Property 'mysql.port' cannot be '0': it must be a whole number from 1 to 65535"),
        ({"mysql.ssl": "maybe"}, "Property 'mysql.ssl' cannot be 'maybe': it must be one of"),
        (
            {"unlogged_cascades": "yes"},
            "Property 'unlogged_cascades' cannot be 'yes': it must be one of refuse",
        ),
        ({"mysql.host": ""}, "Property 'mysql.host' cannot be '': it must not be empty"),
        (
            {"mysql.user": ""},
            "Property 'mysql.user' cannot be '': it must not be empty",
        ),  # PyMySQL would log in as the frontend's own user
        ({"snapshot.host": "a,b"}, "Property 'snapshot.host' cannot be 'a,b': it must be a host, or host:port"),
        (
            {"snapshot.host": "a", "start": "latest"},
            "Property 'snapshot.host' cannot be 'a': \"start\" = \"latest\" reads no rows",
        ),
    ],
)
def test_a_wrong_property_is_told(changes: dict[str, str], message: str) -> None:
    """An unknown key or a wrong value is never ignored; the nearest key is named."""
    with pytest.raises(SyncError) as raised:
        source_of(GIVEN | changes)
    assert str(raised.value).startswith(message)


CA, CERT, KEY = "/etc/ca.pem", "/etc/own.pem", "/etc/own.key"
VERIFIED = {"mysql.ssl": "verify_ca", "mysql.ssl_ca": CA}
SHOWN = {"mysql.ssl_cert": CERT, "mysql.ssl_key": KEY}
REPLICA = {"snapshot.host": "db2"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"mysql.ssl": "verify_identity"},
            "Property 'mysql.ssl' cannot be 'verify_identity': it needs \"mysql.ssl_ca\"",
        ),
        (
            {"mysql.ssl_ca": CA},
            "Property 'mysql.ssl_ca' cannot be '/etc/ca.pem': it is for \"mysql.ssl\" = \"verify_ca\"",
        ),
        (
            VERIFIED | {"mysql.ssl_ca": "ca.pem"},
            "Property 'mysql.ssl_ca' cannot be 'ca.pem': it must be the absolute path",
        ),
        (
            VERIFIED | {"mysql.ssl_cert": CERT},
            "Property 'mysql.ssl_cert' cannot be '/etc/own.pem': it needs \"mysql.ssl_key\"",
        ),
        (
            VERIFIED | {"mysql.ssl_key": KEY},
            "Property 'mysql.ssl_key' cannot be '/etc/own.key': it needs \"mysql.ssl_cert\"",
        ),
        (SHOWN, "Property 'mysql.ssl_cert' cannot be '/etc/own.pem': it needs \"mysql.ssl\" = \"required\" or more"),
        ({"snapshot.ssl": "required"}, "Property 'snapshot.ssl' cannot be 'required': it is for a snapshot.host"),
        (
            REPLICA | {"snapshot.ssl": "verify_ca"},
            "Property 'snapshot.ssl' cannot be 'verify_ca': it needs \"snapshot.ssl_ca\"",
        ),
        (REPLICA | {"snapshot.ssl": "yes"}, "Property 'snapshot.ssl' cannot be 'yes': it must be one of"),
    ],
)
def test_files_that_do_not_fit_the_mode_are_told(changes: dict[str, str], message: str) -> None:
    """Who names a CA means that it is asked: no mode takes files that it would not look at."""
    with pytest.raises(SyncError) as raised:
        source_of(GIVEN | changes)
    assert str(raised.value).startswith(message)


def test_each_server_of_a_job_has_its_proof() -> None:
    """The replica of a snapshot that of the source, unless its own is said; the source none of the replica's."""

    def tls(changes: dict[str, str], host: str) -> Tls:
        source = source_of(GIVEN | changes)
        assert isinstance(source, MysqlDescription)
        return source.tls_of(host, 3306)

    both = VERIFIED | SHOWN | REPLICA
    proof = Tls(mode="verify_ca", ca=CA, cert=CERT, key=KEY)
    assert tls(both, "db1") == proof
    assert tls(both, "db2") == replace(proof, of="snapshot")
    other = both | {"snapshot.ssl": "verify_identity", "snapshot.ssl_ca": "/etc/other.pem"}
    assert tls(other, "db1").ca == CA
    assert tls(other, "db2") == replace(proof, mode="verify_identity", ca="/etc/other.pem", of="snapshot")
    assert tls(both | {"snapshot.ssl": "preferred"}, "db2") == Tls(mode="preferred", of="snapshot")


@pytest.mark.parametrize("name", ["type", "mysql.host", "mysql.user", "mysql.password"])
def test_a_missing_property_is_named(name: str) -> None:
    """What has no default must be given."""
    with pytest.raises(SyncError, match=f"Property '{name}' is missing in FROM BINLOG"):
        source_of({key: value for key, value in GIVEN.items() if key != name})


def test_doris_properties_of_canal_are_enough() -> None:
    """Doris' own six make a job; the batch size is Doris' default, and JobConfig reads as Doris prints it."""
    source = source_of(CANAL)
    assert isinstance(source, CanalDescription)
    assert (source.batch_size, source.debug, source.time_zone) == (8192, False, None)
    assert (source.kind, source.config) == ("CANAL", "address:127.0.0.1:11111,destination:example,batchSize:8192")


def test_zookeeper_stands_for_an_address() -> None:
    """A cluster is named by its ZooKeeper, and by nothing beside it."""
    zk = {name: value for name, value in CANAL.items() if "server" not in name} | {
        "canal.zk.servers": "z1:2181,z2:2181"
    }
    assert source_of(zk).config == "address:z1:2181,z2:2181,destination:example,batchSize:8192"
    with pytest.raises(SyncError, match="it stands instead of canal"):
        source_of(CANAL | zk)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"canal.batchsize": "1"},
            "Unknown property 'canal.batchsize' in FROM BINLOG; did you mean 'canal.batchSize'?",
        ),
        ({"canal.batchSize": "0"}, "Property 'canal.batchSize' cannot be '0': it must be a whole number from 1"),
        ({"canal.debug": "yes"}, "Property 'canal.debug' cannot be 'yes': it must be true or false"),
        ({"canal.server.port": "x"}, "Property 'canal.server.port' cannot be 'x': it must be a whole number"),
        ({"canal.server.ip": ""}, "Property 'canal.server.ip' is missing in FROM BINLOG"),
        ({"canal.destination": ""}, "Property 'canal.destination' cannot be '': it must not be empty"),
        ({"mysql.host": "x"}, "Unknown property 'mysql.host' in FROM BINLOG"),
    ],
)
def test_a_wrong_property_of_canal_is_told(changes: dict[str, str], message: str) -> None:
    """What Doris ignored silently is an error."""
    with pytest.raises(SyncError) as raised:
        source_of(CANAL | changes)
    assert str(raised.value).startswith(message)


def test_one_destination_has_one_reader() -> None:
    """Two jobs compete where server and destination are the same, whatever their other properties."""
    assert make_canal().one_reader == make_canal(user="other", batch_size=1).one_reader
    assert make_canal().one_reader != make_canal(destination="other").one_reader
    assert make_canal().one_reader != make_canal(port=11112).one_reader
    assert make_canal(zk_servers="z1:2181").one_reader == make_canal(zk_servers="Z1:2181").one_reader


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "::1", "0:0:0:0:0:0:0:1"])
def test_this_machine_is_one_server_under_all_of_its_names(host: str) -> None:
    """A second job on its destination is refused, however the address is written."""
    for other in ("localhost", "127.0.0.1", "::1"):
        assert make_canal(host=host).one_reader == make_canal(host=other).one_reader
    assert make_canal(host=host).one_reader != make_canal(host="10.0.0.1").one_reader
    assert make_canal(host=host).one_reader != make_canal(host=other, port=11112).one_reader


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("db1", [("db1", 3306)]),
        ("db1:3307", [("db1", 3307)]),
        ("db1, db2:3307 ,10.0.0.3", [("db1", 3306), ("db2", 3307), ("10.0.0.3", 3306)]),
        ("::1", [("::1", 3306)]),
        ("[::1],[fe80::1]:3308", [("::1", 3306), ("fe80::1", 3308)]),
    ],
)
def test_several_servers_of_one_history(text: str, expected: list[tuple[str, int]]) -> None:
    """Each with a port of its own where it says one; IPv6 addresses as everywhere."""
    assert list(hosts_of(text, 3306)) == expected


@pytest.mark.parametrize("text", ["", "db1,", "db1:", "db1:x", "db1:0", "a b", "[::1", "[::1]x"])
def test_a_list_of_servers_that_is_none(text: str) -> None:
    """It is refused by name, before anything is asked."""
    with pytest.raises(SyncError) as caught:
        hosts_of(text, 3306)
    assert caught.value.code is Code.PROPERTY_WRONG


def test_a_value_without_end_is_refused() -> None:
    """Each SHOW has all values of a job; nothing of it is shown, since it may be a password."""
    table = [Property("a.password", None, "")]
    most = "p" * LONGEST_VALUE
    assert filled({"a.password": most}, table, "FROM BINLOG") == {"a.password": most}
    with pytest.raises(SyncError) as caught:
        filled({"a.password": most + "p"}, table, "FROM BINLOG")
    assert caught.value.code is Code.PROPERTY_WRONG
    assert "ppp" not in str(caught.value)


def test_the_server_id_is_as_told_or_the_job_s_own() -> None:
    """Without one it comes from the job's random token: the same after every restart, and another for another job."""
    assert make_source(server_id=77).id_for("token-1") == 77
    derived = make_source().id_for("token-1")
    assert derived == make_source(host="db2").id_for("token-1")
    assert derived != make_source().id_for("token-2")
    assert 0 < derived < 2**32


def test_a_source_is_reached_in_another_way() -> None:
    """What is not named stays as it was; a login may change alone."""
    source = source_of(GIVEN | {"start": "latest", "unlogged_cascades": "accept", "mysql.ssl": "required"})
    assert source.altered({"mysql.user": "other"}) == replace(source, user="other")
    moved = source.altered({"mysql.host": "db2,db3:3307", "mysql.port": "3308", "mysql.password": "new"})
    assert moved == replace(source, host="db2,db3:3307", port=3308, password="new")
    assert source_of(source.properties()) == source


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (
            {"start": "earliest"},
            "Property 'start' cannot be 'earliest': SET SOURCE does not change it, but mysql",
        ),
        ({"type": "canal"}, "Property 'type' cannot be 'canal': SET SOURCE does not change it"),
        ({"mysql.hots": "x"}, "Unknown property 'mysql.hots' in SET SOURCE; did you mean 'mysql.host'?"),
        ({"mysql.port": "0"}, "Property 'mysql.port' cannot be '0'"),
        ({"mysql.host": "evil"}, "Property 'mysql.password' is missing in SET SOURCE; it must be given again where"),
        ({"mysql.port": "3307"}, "Property 'mysql.password' is missing"),
        ({"mysql.ssl": "disabled"}, "Property 'mysql.password' is missing"),
        ({"snapshot.host": "evil"}, "Property 'mysql.password' is missing"),
    ],
)
def test_what_would_be_another_job_or_another_reader_of_the_password_is_refused(
    told: dict[str, str], message: str
) -> None:
    """Whoever may alter a job need not know its password, and makes it known to nobody."""
    with pytest.raises(SyncError, match="^" + message.replace("?", r"\?")) as caught:
        source_of(GIVEN).altered(told)
    assert "s3cret" not in str(caught.value)


def test_a_server_of_canal_stands_in_place_of_a_cluster() -> None:
    """And a cluster in place of a server; the stored password goes to neither."""
    server = source_of(CANAL)
    cluster = server.altered({"canal.zk.servers": "zk1:2181"})
    assert isinstance(cluster, CanalDescription)
    assert (cluster.host, cluster.port, cluster.zk_servers) == ("", 0, "zk1:2181")
    assert cluster.altered({"canal.server.ip": "127.0.0.1", "canal.server.port": "11111"}) == server
    assert source_of(cluster.properties()) == cluster
    guarded = source_of(CANAL | {"canal.password": "s3cret"})
    with pytest.raises(SyncError, match=r"'canal\.password' is missing"):
        guarded.altered({"canal.server.ip": "evil"})
    with pytest.raises(SyncError, match=r"'canal\.destination' cannot be 'other'"):
        guarded.altered({"canal.destination": "other"})
