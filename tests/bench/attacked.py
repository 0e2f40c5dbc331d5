"""Every attack again and again: whether memory grows, and how late rows and SHOW SYNC JOB come meanwhile.

Run: python -m tests.bench.attacked [--minutes N] [--each SECONDS]

One attacker after the other, in a process of its own for some seconds (15), as often as there is time (10 minutes),
while a row is committed after the other and SHOW is asked between them; the same seconds of each round are at rest.
After each attack a line has the memory of the frontend and of each JVM, and at the end one per attack has how old rows
were and how long SHOW took, in brackets as many times as at rest.
"""

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import psutil

from tests.acceptance.test_hostile import Attack, Measured, Victim, p99
from tests.attacks.rounds import ATTACKS
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

MEGABYTE = 2**20
REST = "at rest"


def memory(victim: Victim) -> str:
    """Of what is resident, in MiB."""
    assert victim.fe.process is not None
    frontend = psutil.Process(victim.fe.process.pid)
    ours = frontend.children(recursive=True)
    jvms = sorted((each for each in ours if each.name() == "java"), key=psutil.Process.create_time)
    others = [each for each in ours if each not in jvms]
    return (
        f"frontend {_of(frontend)} MiB, {frontend.num_threads()} threads, {frontend.num_fds()} files;"
        f" JVMs {' and '.join(str(_of(each)) for each in jvms)} MiB; {len(others)} workers and their server"
        f" {sum(map(_of, others))} MiB"
    )


def _of(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss // MEGABYTE
    except psutil.NoSuchProcess:
        return 0


def run(victim: Victim, minutes: float, each: float) -> None:
    begun, rounds = time.monotonic(), 0
    measured: defaultdict[str, Measured] = defaultdict(lambda: Measured(ages=[], shows=[]))
    print(f"at rest: {memory(victim)}", flush=True)
    while time.monotonic() < begun + minutes * 60:
        measured[REST] += victim.measured_for(each)
        for name in ATTACKS:
            if time.monotonic() > begun + minutes * 60:
                break
            attack = Attack(name, victim)
            until(lambda attack=attack: attack.begun, why="the attacker")
            measured[name] += victim.measured_for(each)
            attack.end()
            print(f"  {name}: {memory(victim)}; {victim.cut_off} logins cut off so far", flush=True)
        rounds += 1
        print(f"{rounds} after {time.monotonic() - begun:.0f} s: {memory(victim)}", flush=True)
    rest = measured[REST]
    print(f"\nat rest: {rest} ({len(rest.ages)} rows)")
    for name in (each for each in measured if each != REST):
        print(f"{name}: {compared(measured[name], rest)}")
    print(f"at the end: {memory(victim)}")


def compared(found: Measured, rest: Measured) -> str:
    """Medians and p99, with how many times those at rest."""
    parts = []
    for what, ours, theirs in (("rows", found.ages, rest.ages), ("SHOW", found.shows, rest.shows)):
        figures = [
            (name, measure(ours), measure(theirs)) for name, measure in (("p50", statistics.median), ("p99", p99))
        ]
        parts.append(
            f"{what} " + ", ".join(f"{name} {here:.2f} s ({here / there:.2f})" for name, here, there in figures)
        )
    return f"{'; '.join(parts)} ({len(found.ages)} rows)"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--each", type=float, default=15)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        mysql = MysqlServer(Path(place) / "mysql", "mysql", {}).start()
        try:
            victim = Victim(mysql, Path(place))
            victim.measured()
            victim.fe.sql("SELECT count(*) FROM attacked.t")
            try:
                run(victim, options.minutes, options.each)
            finally:
                victim.fe.kill()
        finally:
            mysql.stop()


if __name__ == "__main__":
    main()
