"""The client for registered graders: on a Fairmark server, or on this machine's own store.

`AsyncClient` holds the logic, and `Client` is the same for synchronous callers. Both speak to a backend: `remote` asks
a server, `local` opens the store. What callers see of the two is the same, errors included.
"""

from fairmark.client.asynchronous import AsyncClient
from fairmark.client.records import GraderVersion, Metric, Project, RegisteredGrader, Score
from fairmark.client.synchronous import Client
from fairmark.endpoints import Offline, Online
from fairmark.errors import (
    AccessDenied,
    DuplicateKey,
    FunctionRefused,
    InvalidData,
    InvalidGrader,
    InvalidKey,
    LockedGrader,
    ServerFailed,
    UnknownGrader,
    VersionConflict,
)

__all__ = [
    "AccessDenied",
    "AsyncClient",
    "Client",
    "DuplicateKey",
    "FunctionRefused",
    "GraderVersion",
    "InvalidData",
    "InvalidGrader",
    "InvalidKey",
    "LockedGrader",
    "Metric",
    "Offline",
    "Online",
    "Project",
    "RegisteredGrader",
    "Score",
    "ServerFailed",
    "UnknownGrader",
    "VersionConflict",
]
