"""The images there are: one table. The versions are pinned in requirements/, so that every build gives the same."""

from collections.abc import Mapping
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


KNOWN: Mapping[str, KnownImage] = {
    "2025-05-08": KnownImage(
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
    )
}
DEFAULT_TAG = "2025-05-08"
