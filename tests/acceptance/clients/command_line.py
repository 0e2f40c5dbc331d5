"""The command lines mysql and mariadb, as an operator or a script types into them.

Owns: how each of them is asked for what its checks need. Run as `command_line.py mysql|mariadb`.
Must not know: drivers.
"""

import os
import pty
import re
import select
import subprocess
import sys
import threading
import time

from checks import DATABASE, HOST, MANY, PASSWORD, PORT, SLOW, USER, VALUES, equal, report

PROGRAM = sys.argv[1]
IS_MYSQL = PROGRAM == "mysql"
PLAIN = "--ssl-mode=DISABLED" if IS_MYSQL else "--skip-ssl"
SECURE = "--ssl-mode=REQUIRED" if IS_MYSQL else "--ssl"
COMPRESSING = "--compression-algorithms=zstd" if IS_MYSQL else "--compress"
RSA = ["--get-server-public-key"] if IS_MYSQL else []
COMMANDS = ["--commands"] if IS_MYSQL else []  # in scripts they are off in MySQL 9
LIMIT_SECOND = 180 * float(os.environ.get("SYNCMGR_TEST_PATIENCE", "1"))


def command(*options: str) -> list[str]:
    where = [PROGRAM, "--no-defaults", f"-h{HOST}", f"-P{PORT}", f"-u{USER}", f"-p{PASSWORD}"]
    return [*where, "--default-character-set=utf8mb4", *options, DATABASE]


def say(text: str, *options: str) -> "subprocess.CompletedProcess[str]":
    given = options if any(each in options for each in (PLAIN, SECURE)) else (PLAIN, *RSA, *options)
    return subprocess.run(
        command(*given),
        input=text,
        capture_output=True,
        encoding="utf-8",
        errors="replace",  # bytes come as they are
        timeout=LIMIT_SECOND,
        check=False,
    )


def answer(text: str, *options: str) -> str:
    done = say(text, "-N", *options)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


def login() -> None:
    equal(answer("SELECT CURRENT_USER();").split("@")[0], USER)


def tls() -> None:
    equal(answer("SHOW STATUS LIKE 'Ssl_cipher';", SECURE).split("\t")[1].strip() != "", True)


def values() -> None:
    row = answer(VALUES.replace("X'00FF'", "X'61FF'") + ";").rstrip("\n").split("\t")
    times = ["2026-11-21", "2026-11-21 10:00:00.000005", "2026-11-21 10:00:00", "1", "NULL"]
    equal(row[:6] + row[7:], ["-7", "-70000", "1099511627776", "1.5", "-123.40", "Größe", *times])


def script() -> None:
    text = f"-- a comment\nUSE {DATABASE};\nSHOW\n TABLES; /* another */ SELECT DATABASE();\ndelimiter //\nSELECT 7//\n"
    equal(answer(text).split(), ["orders", DATABASE, "7"])


def vertical() -> None:
    equal("*** 1. row ***" in answer("SHOW CREATE TABLE orders\\G\n", *COMMANDS), True)
    equal("       Table: orders" in answer("SHOW CREATE TABLE orders\\G\n", "--column-names", *COMMANDS), True)


def completion() -> None:
    leader, follower = pty.openpty()
    client = subprocess.Popen(
        command(PLAIN, *RSA, "--auto-rehash"), stdin=follower, stdout=follower, stderr=follower, close_fds=True
    )
    os.close(follower)
    try:
        read_until(leader, "> ")
        os.write(leader, b"SELECT stat\t FROM orde\t;\n")
        read_until(leader, "Empty set")
        os.write(leader, b"quit\n")
        equal(client.wait(LIMIT_SECOND), 0)
    finally:
        client.kill()
        client.wait()
        os.close(leader)


def read_until(terminal: int, text: str) -> None:
    shown = ""
    end = time.monotonic() + LIMIT_SECOND
    while text not in shown:
        if time.monotonic() > end:
            raise AssertionError(shown)
        ready, _, _ = select.select([terminal], [], [], 0.5)
        if ready:
            shown += os.read(terminal, 65536).decode(errors="replace")


def errors() -> None:
    done = say("SELECT 1;\nDESCRIBE nothing;\nSELEC 1;\n", "--force", "--line-numbers")
    told = re.findall(r"ERROR (\d+) \((\w+)\) at line (\d+)", done.stderr)
    equal(told, [("1146", "42S02", "2"), ("1064", "42000", "3")])


def kill() -> None:
    """The client of a script whose statement is killed says so, and goes on if told to."""
    told: list[subprocess.CompletedProcess[str]] = []
    script = threading.Thread(target=lambda: told.append(say(f"{SLOW};\nSELECT 42;\n", "-N", "--force")))
    script.start()
    end = time.monotonic() + LIMIT_SECOND
    while not (running := slow_ones()) and time.monotonic() < end:
        time.sleep(0.1)
    answer(f"KILL QUERY {running[0]};")
    script.join(LIMIT_SECOND)
    equal(("ERROR 1317 (70100)" in told[0].stderr, told[0].stdout), (True, "42\n"))


def slow_ones() -> list[str]:
    """The ids of the connections that run the slow query."""
    rows = (line.split("\t") for line in answer("SHOW FULL PROCESSLIST;").splitlines())
    return [row[0] for row in rows if row[-1].startswith(SLOW)]


report(
    subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.split("for ")[0].strip(),
    {
        "login": login,
        "tls": tls,
        "values": values,
        "many rows": lambda: equal(answer(MANY + ";").splitlines(), [str(each) for each in range(10_000)]),
        "metadata": completion,
        "errors": errors,
        "several statements": script,
        "vertical": vertical,
        "compression": lambda: equal(
            answer("SHOW STATUS LIKE 'Compression';", PLAIN, *RSA, COMPRESSING), "Compression\tON\n"
        ),
        "kill": kill,
    },
)
