"""Workers and JVMs as the operating system shows them.

Owns: how to recognize a worker process, and the two JVMs.
Must not know: what they do.
"""

import contextlib

import psutil


def workers(frontend: int) -> list[psutil.Process]:
    """Of the process of this number."""
    return [worker for server in fork_servers(frontend) for worker in _children(server)]


def kill_workers(frontend: int) -> None:
    """With -9: those that exist; one that ends meanwhile is dead, too."""
    for worker in workers(frontend):
        with contextlib.suppress(psutil.NoSuchProcess):
            worker.kill()


def fork_servers(frontend: int) -> list[psutil.Process]:
    """The process from which its workers are forked: one, once it has started any."""
    return [child for child in _children(psutil.Process(frontend)) if _forks(child)]


def jvms(frontend: int, name: str) -> list[psutil.Process]:
    """Those of that name, launch.LAKE or launch.QUERIES; one that is only being launched does not count yet."""
    return [child for child in _children(psutil.Process(frontend)) if _is_jvm(child, name)]


def _is_jvm(process: psutil.Process, name: str) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return process.name() == "java" and name in process.cmdline()
    return False


def _children(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return list(process.children())
    return []


def _forks(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return "multiprocessing.forkserver" in " ".join(process.cmdline())
    return False


def connections_to(port: int) -> int:
    """How many of this process's connections lead to a port, even those that the other side has closed."""
    return sum(each.raddr.port == port for each in psutil.Process().net_connections("tcp") if each.raddr)
