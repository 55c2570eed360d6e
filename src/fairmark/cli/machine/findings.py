"""What this machine can do, and what to do about what it cannot."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fairmark.sandbox.base import Program
from fairmark.sandbox.catalogue import BASE_TAG, DEFAULT_TAG, KNOWN
from fairmark.sandbox.chosen import SANDBOX
from fairmark.sandbox.images import Images
from fairmark.settings import settings, unknown_variables

if TYPE_CHECKING:
    import aiohttp

    from fairmark.judges.models import Provider


REACH_S = 5.0
"""How long a judge's server may take to say that it is there."""


class Finding(NamedTuple):
    """One thing that was looked at. `needed`: without it python graders cannot run."""

    name: str
    ok: bool
    found: str
    fix: str = ""
    needed: bool = True


def examine() -> Iterator[Finding]:
    """Look at everything, in an order in which one explains the next."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("Python", sys.version_info >= (3, 11), version, "Install Python 3.11 or newer.")
    chosen = settings().sandbox
    if chosen == "none":
        yield Finding("isolation", False, "FAIRMARK_SANDBOX=none: none at all", "Unset FAIRMARK_SANDBOX.", needed=False)
    else:
        yield from _isolation()
    yield _try_out()
    yield _packages()
    yield _plugins()
    yield _settings()
    yield from _judges()


def _settings() -> Finding:
    unknown = unknown_variables(os.environ)
    fix = "Unset it. fairmark config show tells what holds."
    return Finding("settings", not unknown, " ".join(unknown) or "fairmark config show tells them", fix, needed=False)


def _isolation() -> Iterator[Finding]:
    linux = sys.platform == "linux"
    yield Finding(
        "Linux", linux, sys.platform, "The sandbox needs Linux. Run Fairmark in a Linux machine or container."
    )
    if not linux:
        return
    bubblewrap = shutil.which("bwrap")
    version = _first_line([bubblewrap, "--version"]) if bubblewrap else "not found"
    yield Finding(
        "bubblewrap", bubblewrap is not None, version, "apt-get install bubblewrap (or your system's package)."
    )
    yield _seccomp()
    yield _user_namespaces()
    groups = "version 2" if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else "version 1 or none"  # noqa: PTH110
    yield Finding("cgroups", True, f"{groups}; not needed, limits hold without them", needed=False)


def _seccomp() -> Finding:
    from fairmark.sandbox import seccomp

    try:
        size = len(seccomp.program()) // 8
    except seccomp.Unavailable as error:
        return Finding("seccomp", False, str(error), "apt-get install libseccomp2 (or your system's package).")
    return Finding("seccomp", True, f"filter of {size} instructions")


def _user_namespaces() -> Finding:
    unshare = shutil.which("unshare")
    if unshare is None:
        return Finding("user namespaces", True, "not tried: there is no unshare command", needed=False)
    done = subprocess.run([unshare, "--user", "true"], capture_output=True, text=True, check=False)  # noqa: S603
    return Finding(
        "user namespaces",
        done.returncode == 0,
        "allowed" if done.returncode == 0 else done.stderr.strip(),
        "As root: sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000; on Ubuntu 24.04 also "
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0. In a container: see docs/sandbox.md.",
    )


def _try_out() -> Finding:
    """Grade something in the real sandbox: all the ways out are tried on the way."""
    from fairmark.work import eventloop

    program = Program("def grade(sample, item):\n    return 1.0\n", "python", SANDBOX.policy.python, strict=False)
    (outcome,) = eventloop.run(SANDBOX.run(program, [({}, {})]))
    if outcome.failure is None:
        return Finding("python graders", True, "run")
    return Finding(
        "python graders", False, outcome.details, "Mend what is missing above; docs/sandbox.md tells about containers."
    )


def _packages() -> Finding:
    """What python graders may import."""
    image = Images(settings().data_folder).find(DEFAULT_TAG)
    if image is None:
        detail = "no image installed: graders have the standard library only"
        return Finding("packages", False, detail, KNOWN[BASE_TAG].install, needed=False)
    more = "" if image.name == DEFAULT_TAG else f"; the rest of {DEFAULT_TAG}: {KNOWN[DEFAULT_TAG].install}"
    return Finding("packages", True, f"image {image.name}{more}", needed=False)


def _plugins() -> Finding:
    """Which kinds of grader other packages bring, and which of them are broken."""
    from fairmark.graders import KINDS, all_kinds, unusable_kinds

    names = [name for name in all_kinds() if name not in KINDS]
    problems = unusable_kinds()
    return Finding(
        "plugins", not problems, " ".join(problems) or ", ".join(names) or "none", "See docs/plugins.md.", needed=False
    )


def _judges() -> Iterator[Finding]:
    """Which models can be asked, and whether their servers answer."""
    from fairmark.judges.models import LOCAL, read_registry
    from fairmark.work import eventloop

    registry = read_registry()
    providers = [provider for name, provider in registry.providers.items() if name != LOCAL]
    words = [provider.name for provider in providers]
    words += [
        f"{len(names)} {word}" for names, word in ((registry.entries, "models"), (registry.aliases, "aliases")) if names
    ]
    yield Finding(
        "judge models",
        bool(words),
        ", ".join(words) or "none configured",
        "Set OPENAI_API_KEY (and OPENAI_BASE_URL), or describe providers in fairmark.toml: docs/models.md.",
        needed=False,
    )
    if providers:
        yield from eventloop.run(_reached(providers))


async def _reached(providers: "list[Provider]") -> list[Finding]:
    import asyncio

    import aiohttp

    timeout = aiohttp.ClientTimeout(total=REACH_S)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        return await asyncio.gather(*(_reach(session, provider) for provider in providers))


async def _reach(session: "aiohttp.ClientSession", provider: "Provider") -> Finding:
    """Asks for the list of models, which costs nothing."""
    import aiohttp

    from fairmark.judges.client import proxy_for

    url, proxy = provider.models_url, proxy_for(provider.models_url)
    name, fix = f"provider {provider.name}", f"Check that {provider.base_url} is right and can be reached from here."
    try:
        async with session.get(url, headers=provider.headers, allow_redirects=False, proxy=proxy) as response:
            status = response.status
    except TimeoutError:
        return Finding(name, False, f"no answer within {REACH_S:g} s", fix, needed=False)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Finding(name, False, provider.hide(str(error) or type(error).__name__), fix, needed=False)
    if status in (401, 403):
        return Finding(name, False, f"answered {status}: the key is missing or wrong", "Check its key.", needed=False)
    if status >= 500:
        return Finding(name, False, f"answered {status}", fix, needed=False)
    # Not every server has a list of its models.
    return Finding(
        name, True, "answers" if status == 200 else f"answers ({status} for its list of models)", needed=False
    )


def _first_line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return (done.stdout or done.stderr).strip().partition("\n")[0]
