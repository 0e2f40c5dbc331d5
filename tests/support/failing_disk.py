"""A disk that loses writes: ext4 on a loop device whose backing file is on a small tmpfs.

Owns: mounting it, letting it fail, repairing it, dropping what the kernel has cached of it.
Must not know: who writes to it.

Blocks that were never written have no room in a tmpfs that is full: the device answers their writeback with an error,
which the kernel reports once, and goes on with the next.
"""

import subprocess
from pathlib import Path

from tests.support.small_disk import SmallDisk, run

DISK_MEBIBYTES = 512
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


class FailingDisk:
    """Mounted on a folder."""

    def __init__(self, folder: Path, behind: Path, mebibytes: int) -> None:
        """`behind`: where its backing file is. `mebibytes`: what may be written in all. Raises NoMountError."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._behind = SmallDisk(behind, mebibytes)
        image = self._behind.folder / "image"
        try:
            with image.open("wb") as file:
                file.truncate(DISK_MEBIBYTES << 20)
            # Without a journal a lost write harms only its own file, as on a disk without spare sectors.
            run("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "nodiscard", str(image))
            run("mount", "-o", "loop,errors=continue", str(image), str(self.folder))
        except BaseException:
            self._behind.unmount()
            raise

    def fail(self, leave: int) -> None:
        """New blocks are lost from the next `leave` bytes on."""
        self._behind.fill(leave)

    def mend(self) -> None:
        self._behind.free()

    def forget(self) -> None:
        """What is read from now on comes from the disk."""
        DROP_CACHES.write_text("1")

    def unmount(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=False)
        self._behind.unmount()
