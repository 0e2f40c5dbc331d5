"""Memory while every attack comes again and again: whether it grows.

Run: python -m tests.bench.attacked [--minutes N] [--each SECONDS]

One attacker after the other, in a process of its own for some seconds (15), as often as there is time (10 minutes),
while a job commits. After each round of all of them a line has the memory of the frontend and of each JVM.
"""

import argparse
import tempfile
import time
from pathlib import Path

import psutil

from tests.acceptance.test_hostile import Attack, Victim
from tests.attacks.rounds import ATTACKS
from tests.support.servers.mysql import MysqlServer

MEGABYTE = 2**20


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
    print(f"at rest: {memory(victim)}", flush=True)
    while time.monotonic() < begun + minutes * 60:
        for name in ATTACKS:
            if time.monotonic() > begun + minutes * 60:
                break
            attack = Attack(name, victim)
            time.sleep(each)
            attack.end()
            print(f"  {name}: {memory(victim)}", flush=True)
        rounds += 1
        print(f"{rounds} after {time.monotonic() - begun:.0f} s: {memory(victim)}", flush=True)
    ages = victim.measured().ages
    print(f"at the end, where a row is {ages[len(ages) // 2]:.2f} s old: {memory(victim)}")


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
