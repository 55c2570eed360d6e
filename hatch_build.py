"""Compiles src/fairmark/metrics/_rouge.c while the package is built.

Without a C compiler or Python's headers the build goes on: Fairmark then computes ROUGE in Python, with the same
scores. One binary serves every Python from 3.11 on (the stable ABI).
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

SOURCE = "src/fairmark/metrics/_rouge.c"
BINARY = "_rouge.abi3.so"


class NotBuilt(Exception):
    """Why there is no binary."""


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the binary to the wheel; for an editable install, puts it next to its source."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root, SOURCE)
        in_tree = source.with_name(BINARY)
        self.folder = tempfile.mkdtemp()
        try:
            binary = compiled(source, Path(self.folder))
        except NotBuilt as why:
            self.app.display_warning(f"Fairmark is built without its compiled core, ROUGE will be slower: {why}")
            if version == "editable":
                in_tree.unlink(missing_ok=True)  # it would be that of another source
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform()}"
        if version == "editable":
            # Replaced, not written over: a running Python may have the old one in use.
            beside = in_tree.with_name(f".{BINARY}.{os.getpid()}")
            shutil.copy(binary, beside)
            beside.replace(in_tree)
        else:
            build_data["force_include"][str(binary)] = f"fairmark/metrics/{BINARY}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def compiled(source: Path, folder: Path) -> Path:
    """The binary, in `folder`. NotBuilt says why there is none."""
    if sys.implementation.name != "cpython" or os.name != "posix" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise NotBuilt("it is made for CPython with a GIL, on Linux and macOS.")
    headers = sysconfig.get_path("include")
    if not Path(headers, "Python.h").is_file():
        raise NotBuilt(f"there is no {headers}/Python.h. Debian and Ubuntu: apt-get install python3-dev.")
    binary = folder / BINARY
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    options = ["-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", *shared, "-I", headers]
    flags = [shlex.split(os.environ.get(name, "")) for name in ("CFLAGS", "LDFLAGS")]
    command = [*compiler(), *options, *flags[0], str(source), "-o", str(binary), *flags[1]]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or ""
        raise NotBuilt(f"{shlex.join(command)} failed: {error}\n{said}".rstrip()) from None
    return binary


def compiler() -> list[str]:
    """The C compiler that CC names, or the first of the usual ones that is there."""
    named = os.environ.get("CC")
    for name in [named] if named else [sysconfig.get_config_var("CC") or "cc", "cc", "gcc", "clang"]:
        command = shlex.split(name)
        if command and shutil.which(command[0]):
            return command
    wanted = f"CC={named} is not there" if named else "there is none"
    raise NotBuilt(f"it needs a C compiler, and {wanted}. Debian and Ubuntu: apt-get install gcc libc6-dev.")


def platform() -> str:
    """What the binary runs on. Made on this machine, for machines like it: no promise of an older libc."""
    return next(
        tag.platform for tag in sys_tags() if "manylinux" not in tag.platform and "musllinux" not in tag.platform
    )
