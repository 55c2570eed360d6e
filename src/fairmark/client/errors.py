"""What can go wrong with a server and cannot without one. All other errors are those of the registry itself."""

from fairmark.errors import FairmarkError


class ServerFailed(FairmarkError):
    """The server cannot be reached, took too long, or did not answer as a Fairmark server does."""


class AccessDenied(FairmarkError, PermissionError):
    """The server does not let this key in, or not into this project."""
