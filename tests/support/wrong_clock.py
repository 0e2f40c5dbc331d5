"""A clock of the machine that is wrong, for the processes that a test starts with its environment, and their children.

Owns: the library that the loader puts before libc's calls for the time; how far they are off.
Must not know: who asks for the time.
"""

import mmap
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Final

LIBRARY: Final = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *off;

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("WRONG_CLOCK");
  int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  void *at = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, file, 0);
  if (at != MAP_FAILED) off = at;
  if (file >= 0) close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (syscall(SYS_clock_gettime, clock, now) != 0) return -1;
  if (off && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *off;
  return 0;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec exact;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  if (at) *at = exact.tv_sec;
  return exact.tv_sec;
}
"""


class NoCompilerError(Exception):
    """So that no clock can be wrong here."""


class WrongClock:
    """Right at first. `environment`: of the processes that go by it."""

    def __init__(self, folder: Path) -> None:
        """Raises NoCompilerError."""
        compiler = shutil.which("cc")
        if compiler is None:
            raise NoCompilerError
        folder.mkdir(parents=True, exist_ok=True)
        library, self._off = folder / "wrong_clock.so", folder / "off"
        command = [compiler, "-shared", "-fPIC", "-O2", "-x", "c", "-o", str(library), "-"]
        subprocess.run(command, input=LIBRARY, text=True, check=True)
        self._off.write_bytes(bytes(8))
        self.environment = os.environ | {"LD_PRELOAD": str(library), "WRONG_CLOCK": str(self._off)}

    def set(self, second: int) -> None:
        """So far ahead, or behind if it is negative, for all of them at once."""
        with self._off.open("r+b") as file, mmap.mmap(file.fileno(), 8) as shared:
            shared[:] = struct.pack("=q", second)
