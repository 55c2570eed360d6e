"""How an image is built: pip fetches the pinned wheels and unpacks them. What takes building is built in a virtual
environment of its own.

Three kinds of trouble end differently. Without the registry or a working pip there is no image: BuildFailed. A package
that has no wheel here, cannot be built or cannot be imported is left out, with the reason. So is nltk data.
"""

import importlib.util
import json
import os
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path

from fairmark.errors import BuildFailed
from fairmark.sandbox import children, corpora
from fairmark.sandbox.catalogue import KnownImage
from fairmark.sandbox.children import Done
from fairmark.sandbox.images import ABI, Image

Say = Callable[[str], None]

_IMPORT_EACH = """
import importlib, json, sys
sys.path.append(sys.argv[1])
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
        problem = None
    except BaseException as error:
        problem = f"{type(error).__name__}: {error}"
    print(json.dumps([name, problem]), flush=True)
"""
IMPORT_LIMIT_S = 600.0
REACH_S = 15.0
"""How long a package index may take to answer the first question."""

_NO_WHEEL = re.compile(r"No matching distribution found for (\S+?)==")
_UNREACHABLE = re.compile(r"Retrying \(Retry\(|NewConnectionError|ConnectionError|ReadTimeoutError|SSLError|ProxyError")
_EXTENSION = re.compile(r"building '([\w.]+)' extension")
_WHEEL = re.compile(r"(?:Downloading|Using cached|Processing) .*?([A-Za-z0-9_.]+)-([0-9][^-/]*)-[^/\s]+\.whl(?!\.)")
_REASON = re.compile(r"(?:ERROR|[Ee]rror|\w+Error): .*")
_EMPTY_REASON = re.compile(r"(subprocess|legacy-install)-\w+|metadata-generation-failed|Failed (building|to build)")

_COMPILER = "Building it takes a C compiler and Python's headers. On Debian and Ubuntu: build-essential, python3-dev."


def build(tag: str, known: KnownImage, scratch: Path, say: Say) -> Image:
    """Build the image as `scratch`/image and tell what is in it."""
    target, tools = scratch / "image", BuildTools(scratch)
    site_packages, data, wheels = target / "site-packages", target / "nltk_data", scratch / "wheels"
    for folder in (site_packages, data, wheels, tools.temporary):
        folder.mkdir(parents=True)
    pins = read_pins(known.requirements)
    if importlib.util.find_spec("pip") is None:  # an environment that uv has made
        _make_environment(tag, tools, say)
    missing = _download(tag, known, pins, wheels, tools, say)
    if known.from_source:
        _make_environment(tag, tools, say)
        missing |= _build_from_source(known, pins, wheels, tools, say)
    packages = {name: version for name, version in pins.items() if name not in missing}
    if not packages:
        raise BuildFailed(f"image {tag}: not one of its packages is to be had for {_this_python()}.")
    _install(tag, packages, wheels, site_packages, tools, say)
    corpora.fetch(known.corpora, data, site_packages, scratch / "corpora", tools, say)
    wanted = {module: package for module, package in known.modules.items() if package in packages}
    missing |= _not_importable(wanted, site_packages, tools, say)
    return Image(
        tag=tag,
        python=platform.python_version(),
        abi=ABI,
        packages={name: version for name, version in packages.items() if name not in missing},
        missing_packages={name: missing[name] for name in pins if name in missing},
        corpora=[name for name in known.corpora if corpora.is_there(data, name)],
        missing_corpora=[name for name in known.corpora if not corpora.is_there(data, name)],
        size_bytes=sum(path.stat().st_size for path in target.rglob("*") if path.is_file()),
    )


def read_pins(requirements: Path) -> dict[str, str]:
    """The packages of a requirements file with their versions."""
    lines = [line.partition("#")[0].strip() for line in requirements.read_text("utf-8").splitlines()]
    return {name: version for name, _, version in (line.partition("==") for line in lines if line)}


class BuildTools:
    """The programs that a build runs, and where they may write."""

    def __init__(self, scratch: Path) -> None:
        self.environment = scratch / "venv"
        self.python_with_pip = Path(sys.executable)
        self.temporary = scratch / "tmp"
        # The user's settings of pip hold: where its registry is. Those that would install elsewhere do not.
        ignored = {"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_CONSTRAINT", "PYTHONHOME", "PYTHONPATH"}
        self._variables = {name: value for name, value in os.environ.items() if name not in ignored} | {
            "TMPDIR": str(self.temporary),
            "LC_ALL": "C.UTF-8",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
            "PIP_PROGRESS_BAR": "off",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self._folder = scratch

    def pip(self, *arguments: str | Path, each_line: Callable[[str], None] = lambda line: None) -> Done:
        command = [self.python_with_pip, "-I", "-m", "pip", *arguments]
        return children.run(command, self._folder, self._variables, each_line)

    def run(self, *command: str | Path, folder: Path | None = None, timeout_s: float | None = None) -> Done:
        return children.run(command, folder or self.temporary, self._variables, timeout_s=timeout_s)

    def python(self, code: str, *arguments: str | Path, timeout_s: float | None = None) -> Done:
        """Run code with the standard library alone, as it is inside the sandbox."""
        return self.run(sys.executable, "-I", "-S", "-c", code, *arguments, timeout_s=timeout_s)


def _make_environment(tag: str, tools: BuildTools, say: Say) -> None:
    """Give pip an environment of its own, unless it has it already."""
    if tools.python_with_pip.is_relative_to(tools.environment):
        return
    say("Creating a virtual environment for pip")
    made = tools.run(sys.executable, "-I", "-m", "venv", tools.environment)
    if made.code:
        raise _failed(tag, "no virtual environment could be made", made, "On Debian and Ubuntu it takes python3-venv.")
    tools.python_with_pip = tools.environment / "bin" / "python"


def _download(
    tag: str, known: KnownImage, pins: dict[str, str], wheels: Path, tools: BuildTools, say: Say
) -> dict[str, str]:
    """Fetch the wheels. Gives the packages that have none here, with the reason: compiling those would take hours."""
    wanted = {name: version for name, version in pins.items() if name not in known.from_source}
    missing: dict[str, str] = {}
    _reach_index(tag, wanted, wheels, tools, say)
    while wanted:
        counted = _Counted("Downloading", len(wanted), say)
        requirements = [f"{name}=={version}" for name, version in wanted.items()]
        say(f"Downloading {len(wanted)} packages")
        done = tools.pip(
            "download", "--no-deps", "--only-binary=:all:", "--dest", wheels, *requirements, each_line=counted.see
        )
        if done.code == 0:
            break
        told = "\n".join(done.lines)
        without_wheel = _NO_WHEEL.search(told)
        if _UNREACHABLE.search(told):
            raise _unreachable(tag)
        if without_wheel is None or without_wheel[1] not in wanted:
            raise _failed(tag, "pip could not download its packages", done, "Check the network and pip's settings.")
        version = wanted.pop(without_wheel[1])
        missing[without_wheel[1]] = f"version {version} has no wheel for {_this_python()}."
    return missing


def _reach_index(tag: str, wanted: dict[str, str], wheels: Path, tools: BuildTools, say: Say) -> None:
    """Raises BuildFailed at once where there is no network: with its usual patience pip takes a minute to say so."""
    say("Asking the package index")
    name, version = list(wanted.items())[-1]  # a small one: the files name what the others need last
    patience = ("--retries", "1", "--timeout", f"{REACH_S:g}")
    asked = tools.pip("download", "--no-deps", "--only-binary=:all:", *patience, "--dest", wheels, f"{name}=={version}")
    if asked.code and _UNREACHABLE.search("\n".join(asked.lines)):
        raise _unreachable(tag)


def _unreachable(tag: str) -> BuildFailed:
    return BuildFailed(f"image {tag}: pip cannot reach its package index. Check the network and pip's settings.")


def _build_from_source(
    known: KnownImage, pins: dict[str, str], wheels: Path, tools: BuildTools, say: Say
) -> dict[str, str]:
    """Make wheels of what has none. Gives the packages that could not be built, with the reason."""
    if known.build_tools:
        say("Installing what building packages takes")
        ready = tools.pip("install", "--find-links", wheels, "--constraint", known.requirements, *known.build_tools)
        if ready.code:
            reason = f"what building it takes could not be installed: {_reason(ready)}"
            return dict.fromkeys(known.from_source, reason)
    missing: dict[str, str] = {}
    for name in sorted(known.from_source):
        step = f"Building {name} {pins[name]} from its source"
        say(step)

        def see(line: str, step: str = step) -> None:
            part = _EXTENSION.search(line)
            if part:
                say(f"{step}: {part[1]}")

        options = ("--verbose", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels)
        built = tools.pip("wheel", *options, f"{name}=={pins[name]}", each_line=see)
        if built.code:
            missing[name] = f"it has no wheel and could not be built: {_reason(built)} {_COMPILER}"
    return missing


def _install(tag: str, packages: dict[str, str], wheels: Path, target: Path, tools: BuildTools, say: Say) -> None:
    say(f"Installing {len(packages)} packages")
    files = sorted(wheels.glob("*.whl"))
    done = tools.pip("install", "--no-index", "--no-deps", "--no-compile", "--target", target, *files)
    if done.code:
        raise _failed(tag, "pip could not install its packages", done, "Is the disk full?")
    # Inside the sandbox nobody could write what was compiled. On all cores, and without the packages' own tests.
    say("Compiling them")
    tools.run(sys.executable, "-I", "-S", "-m", "compileall", "-q", "-j", "0", "-x", "/tests?/", target)


def _not_importable(modules: dict[str, str], site_packages: Path, tools: BuildTools, say: Say) -> dict[str, str]:
    """The packages whose modules do not import, with the reason: what they need is missing, or the system's library."""
    say(f"Checking {len(modules)} packages")
    done = tools.python(_IMPORT_EACH, site_packages, *modules, timeout_s=IMPORT_LIMIT_S)
    problems = dict.fromkeys(modules, "importing it ended Python.")
    for line in done.lines:
        if line.startswith('["'):
            name, problem = json.loads(line)
            problems[name] = problem and f"it cannot be imported: {problem}"
    return {modules[name]: problem for name, problem in problems.items() if problem}


class _Counted:
    """Says which package pip is at, and which of how many that is."""

    def __init__(self, verb: str, total: int, say: Say) -> None:
        self._verb = verb
        self._total = total
        self._say = say
        self._seen: set[str] = set()

    def see(self, line: str) -> None:
        match = _WHEEL.search(line)
        if match and match[1] not in self._seen:
            self._seen.add(match[1])
            self._say(f"{self._verb} {match[1]} {match[2]} ({len(self._seen)} of {self._total})")


def _failed(tag: str, what: str, done: Done, advice: str) -> BuildFailed:
    return BuildFailed(f"image {tag}: {what}: {_reason(done)} {advice}")


def _reason(done: Done) -> str:
    """The line that tells most: the last error that is more than "it failed"."""
    told = [line.strip() for line in done.lines if line.strip()]
    errors = [line for line in told if _REASON.match(line) and not _EMPTY_REASON.search(line)]
    reason = (errors or told or [f"exit status {done.code}"])[-1]
    return re.sub(r"^(ERROR|error): ", "", reason).rstrip(".") + "."


def _this_python() -> str:
    return f"Python {sys.version_info.major}.{sys.version_info.minor} on {platform.machine()}"
