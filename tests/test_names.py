"""A class name stands once in the package: whoever reads it knows which is meant."""

import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "fairmark"
TWICE = {
    "Grade": "fairmark.ray.Grade is a public name, as Ray Data's users write it",
    "Signal": "trainers/rllm has it as rLLM does",
}


def test_a_class_name_stands_once_or_there_is_a_reason() -> None:
    where: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for name in re.findall(r"^class ([^\W_]\w*)", path.read_text(), flags=re.MULTILINE):
            where[name].append(path.relative_to(SOURCE).as_posix())
    assert len(where) > 100
    repeated = {name: paths for name, paths in where.items() if len(paths) > 1}
    assert {name: paths for name, paths in repeated.items() if name not in TWICE} == {}
    assert set(TWICE) <= set(repeated), "a reason stands only where it is needed"
