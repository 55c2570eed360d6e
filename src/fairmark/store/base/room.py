"""Whether the disk takes any more, found out by trying: free space in numbers knows nothing of quotas and reserves."""

import tempfile
from pathlib import Path

from fairmark.store.base.database import unavailable

PROBE_BYTES = 262_144


def check(folder: Path) -> None:
    """Raises DiskFull, or StoreUnavailable where nothing can be written for another reason. Leaves nothing behind."""
    while not folder.exists():  # it is made when it is needed
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            left = memoryview(bytes(PROBE_BYTES))
            while left:
                left = left[file.write(left) :]
    except OSError as error:
        raise unavailable(str(folder), error) from error
