"""The table of images: every package pinned, as documented, the smaller image a part of the whole one."""

import pytest

from fairmark.sandbox import corpora
from fairmark.sandbox.build import read_pins
from fairmark.sandbox.catalogue import BASE_TAG, DEFAULT_TAG, KNOWN


@pytest.mark.parametrize("tag", KNOWN)
def test_every_known_image_is_pinned_to_the_last_package(tag: str) -> None:
    known = KNOWN[tag]
    pins = read_pins(known.requirements)
    assert {*known.modules.values(), *known.from_source} <= pins.keys()
    assert all(name and version and name == name.lower() for name, version in pins.items())
    assert set(known.corpora) <= corpora.PLACES.keys()


def test_the_packages_of_the_default_image_are_the_documented_ones() -> None:
    pins = read_pins(KNOWN[DEFAULT_TAG].requirements)
    assert {name: pins[name] for name in KNOWN[DEFAULT_TAG].modules.values()} == {
        "numpy": "2.2.4",
        "scipy": "1.15.2",
        "sympy": "1.13.3",
        "pandas": "2.2.3",
        "rapidfuzz": "3.10.1",
        "scikit-learn": "1.6.1",
        "rouge-score": "0.1.2",
        "deepdiff": "8.4.2",
        "jsonschema": "4.23.0",
        "pydantic": "2.10.6",
        "pyyaml": "6.0.2",
        "nltk": "3.9.1",
        "sqlparse": "0.5.3",
        "rdkit": "2024.9.6",
        "scikit-bio": "0.6.3",
        "ast-grep-py": "0.36.2",
    }


def test_the_smaller_image_holds_the_same_versions() -> None:
    smaller, whole = KNOWN[BASE_TAG], KNOWN[DEFAULT_TAG]
    assert smaller.modules.items() <= whole.modules.items()
    assert read_pins(smaller.requirements).items() <= read_pins(whole.requirements).items()
    assert not smaller.from_source
