"""The grader of these tests: a text and code, which fails on purpose for one answer, never ends for another, and kills
its own process for a third."""

import json
from pathlib import Path
from typing import Any


def both(reference: str) -> dict[str, Any]:
    exact = {
        "type": "string_check",
        "name": "exact",
        "operation": "eq",
        "input": "{{sample.output_text}}",
        "reference": reference,
    }
    source = (
        "import os\n"
        "def grade(sample, item):\n"
        "    text = sample['output_text']\n"
        "    if text == 'fail':\n        raise ValueError('on purpose')\n"
        "    if text == 'die':\n        os._exit(1)\n"
        "    while text == 'loop':\n        pass\n"
        "    return len(text) / 10\n"
    )
    code = {"type": "python", "name": "code", "source": source}
    graders = {"exact": exact, "code": code}
    return {"type": "multi", "name": "both", "graders": graders, "calculate_output": "exact + code"}


def written(folder: Path, reference: str) -> Path:
    path = folder / "grader.json"
    path.write_text(json.dumps(both(reference)))
    return path
