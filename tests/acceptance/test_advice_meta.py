"""What is advised if the metadata, or all of the lake, are not as they should be is typed, and the job goes on."""

from pathlib import Path

import pytest

from syncmgr.errors import Code
from syncmgr.meta.database.packets import LEAST
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_advice import Patient
from tests.acceptance.test_backup import done, move_away
from tests.support.servers.databases import another
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark, pytest.mark.long]

MEBIBYTE = 1 << 20


def without(fe: FrontendProcess, setting: str) -> None:
    """From the next start on."""
    lines = fe.conf.read_text().splitlines(keepends=True)
    fe.conf.write_text("".join(line for line in lines if not line.startswith(f"{setting} =")))


def test_a_database_of_the_metadata_is_helped_and_left(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """20310, while it is away: nothing is typed. 20326, a statement that is too large for one packet: the SET GLOBAL of
    the message. 20323, one that fits into no column there: backup, restore into metadata of our own, and RESUME.
    """
    served = MysqlServer(tmp_path / "served", variables={"max-allowed-packet": str(LEAST)}).start()
    url = another(f"mysql+pymysql://root@127.0.0.1:{served.port}/mysql")
    fe = FrontendProcess(tmp_path / "fe", {"meta_url": url}).start()
    try:
        t = Patient("advised_meta", mysql_server, fe)
        t.until_well()
        log = fe.folder / "log" / "fe.log"

        served.stop()
        t.run("INSERT INTO advised_meta.t VALUES (1, 1, 'meanwhile', 1)")
        until(lambda: "The metadata cannot be read or written" in log.read_text(), why="20310 in the log")
        served.start()
        t.until_well()
        assert "the metadata can be written again" in log.read_text()

        quotes = "'" * (15 * MEBIBYTE)  # two bytes each where they are written
        t.run(f"ALTER TABLE advised_meta.t ADD x INT /* {quotes} */")
        assert "Run the statement of the message on the database of meta_url" in t.until_told(Code.META_PACKET)
        assert t.job["Status"]["needs_operator"]
        typed = t.job["Msg"].partition("type there: ")[2].partition(";")[0]
        assert typed.startswith("SET GLOBAL max_allowed_packet = ")
        served.run(typed)
        t.until_well()

        t.run(f"ALTER TABLE advised_meta.t ADD y INT /* {'x' * (20 * MEBIBYTE)} */")
        assert t.until_paused(Code.META_UNFIT) == "Move the metadata as the message says, then RESUME."
        assert (
            "`syncmgr backup FOLDER`, stop the frontend, move its folders away, name another meta_url in fe.conf, "
            in (t.job["Msg"])
        )
        done("backup", tmp_path / "copy", fe)
        assert fe.stop() == 0
        move_away(fe)
        without(fe, "meta_url")
        done("restore", tmp_path / "copy", fe)
        fe.start()
        t.resume()
        t.until_well()
        fe.sql("STOP SYNC JOB advised_meta.job1")
    finally:
        fe.kill_if_alive()
        served.stop()


def test_a_lake_that_is_another_folder_is_named_again(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """1146 of all targets: lake_dir in conf/fe.conf as before, and RESUME; what came meanwhile is there."""
    fe = FrontendProcess(tmp_path / "fe").start()
    try:
        t = Patient("advised_elsewhere", mysql_server, fe)
        t.until_well()
        assert fe.stop() == 0
        fe.set("lake_dir", tmp_path / "elsewhere")
        fe.start()
        t.run("INSERT INTO advised_elsewhere.t VALUES (1, 1, 'meanwhile', 1)")
        advice = t.until_paused(Code.NO_SUCH_TABLE)
        assert "look at lake_dir in conf/fe.conf: it may name another folder than before" in advice
        assert fe.stop() == 0
        without(fe, "lake_dir")
        fe.start()
        t.resume()
        t.until_well()
        fe.sql("STOP SYNC JOB advised_elsewhere.job1")
    finally:
        fe.kill_if_alive()
