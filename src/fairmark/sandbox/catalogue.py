"""The images there are: one table. The versions are pinned in requirements/, so that every build gives the same."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_REQUIREMENTS = Path(__file__).with_name("requirements")


@dataclass(frozen=True, slots=True)
class KnownImage:
    """What an image holds, once it is built."""

    requirements: Path
    """Every package with its version, also those that only other packages need: name==version, one a line."""
    modules: Mapping[str, str]
    """The top-level modules that graders import, and the package each comes in."""
    corpora: tuple[str, ...] = ()
    """The nltk data, by the names of the image's documentation."""
    from_source: frozenset[str] = frozenset()
    """Packages that nobody offers as wheels: they are built here."""
    build_tools: tuple[str, ...] = ()
    """What building those takes, besides a C compiler."""
    smaller: str | None = None
    """The image that stands in where this one is not installed: some of its packages, in the same versions."""
    install: str = "fairmark sandbox install"
    """The command that installs it."""


DEFAULT_TAG = "2025-05-08"
BASE_TAG = "base"

KNOWN: Mapping[str, KnownImage] = {
    # What is small and has wheels everywhere: there in seconds.
    BASE_TAG: KnownImage(
        requirements=_REQUIREMENTS / "base.txt",
        modules={
            "numpy": "numpy",
            "rapidfuzz": "rapidfuzz",
            "deepdiff": "deepdiff",
            "jsonschema": "jsonschema",
            "pydantic": "pydantic",
            "yaml": "pyyaml",
            "nltk": "nltk",
            "sqlparse": "sqlparse",
            "sympy": "sympy",
        },
    ),
    # All that OpenAI's documentation lists.
    DEFAULT_TAG: KnownImage(
        requirements=_REQUIREMENTS / "2025-05-08.txt",
        modules={
            "numpy": "numpy",
            "scipy": "scipy",
            "sympy": "sympy",
            "pandas": "pandas",
            "rapidfuzz": "rapidfuzz",
            "sklearn": "scikit-learn",
            "rouge_score": "rouge-score",
            "deepdiff": "deepdiff",
            "jsonschema": "jsonschema",
            "pydantic": "pydantic",
            "yaml": "pyyaml",
            "nltk": "nltk",
            "sqlparse": "sqlparse",
            "rdkit": "rdkit",
            "skbio": "scikit-bio",
            "ast_grep_py": "ast-grep-py",
        },
        corpora=("punkt", "stopwords", "wordnet", "omw-1.4", "names"),
        from_source=frozenset({"rouge-score", "scikit-bio"}),
        build_tools=("setuptools==78.1.0", "wheel==0.45.1", "cython==3.0.12", "numpy"),
        smaller=BASE_TAG,
        install="fairmark sandbox install --all",
    ),
}


def line_of_images(tag: str, known: Mapping[str, KnownImage] = KNOWN) -> Iterator[str]:
    """The image and those that stand in for it, the largest first."""
    wanted: str | None = tag
    while wanted is not None:
        yield wanted
        wanted = known[wanted].smaller if wanted in known else None


def how_to_get(module: str, tag: str | None, known: Mapping[str, KnownImage] = KNOWN) -> str | None:
    """What to do about a module that a grader of this image does not find; None where no image would help."""
    holding = (
        [name for name in line_of_images(tag, known) if name in known and module in known[name].modules] if tag else []
    )
    if not holding:
        return None
    smallest = holding[-1]
    package, command = known[smallest].modules[module], known[smallest].install
    return f"{package} is in the image {smallest}, which is not installed or lacks it. Run: {command}"
