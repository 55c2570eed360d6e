"""Run inside a runner by the probe: tries to get out, counts what succeeded, and prints it."""

import os
import socket
from typing import Any


def grade(sample: dict[str, Any], item: dict[str, Any]) -> float:
    attempts: dict[str, Any] = {
        "a file of the host can be read": lambda: open(item["host_file"]).read(),
        "the list of users can be read": lambda: open("/etc/passwd").read(),
        "a network socket can be opened": lambda: socket.socket(socket.AF_INET),
        "a local socket can be opened": lambda: socket.socket(socket.AF_UNIX),
        "a process can be started": os.fork,
        "a program can be run": lambda: os.execv("/bin/true", ["true"]),
        "other processes can be seen": lambda: os.listdir("/proc")[0],
        "the sandbox can be written to": lambda: open("/inside/x", "w"),
        "it runs as root": lambda: {0: "root"}[os.getuid()],
        "it has a path to programs": lambda: os.environ["PATH"],
    }
    succeeded = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except (OSError, LookupError):
            continue
        succeeded.append(name)
    print(", ".join(succeeded))
    return len(succeeded)
