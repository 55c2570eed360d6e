"""Archives of what the hosted service has, in the shapes that it gives."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairmark.moving.archive import Archive, part_name

EXACT_ID = "exact-aaaa-1111"
EXACT = {
    "type": "string_check",
    "name": "exact",
    "id": EXACT_ID,
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
SOURCE = "https://api.openai.com/v1"


def eval_(id_: str = "eval_1", **more: Any) -> dict[str, Any]:
    return {
        "object": "eval",
        "id": id_,
        "name": "Capitals",
        "data_source_config": {"type": "custom", "schema": {"type": "object"}},
        "testing_criteria": [EXACT],
        "created_at": 1_700_000_000,
        "metadata": {f"k{number}": "v" for number in range(16)},
        "shared_with_openai": False,
        **more,
    }


def item(run_id: str, number: int, passed: bool = True, **more: Any) -> dict[str, Any]:
    said = "Paris" if passed else "Rome"
    return {
        "object": "eval.run.output_item",
        "id": f"outputitem_{run_id}_{number}",
        "run_id": run_id,
        "eval_id": "eval_1",
        "created_at": 1_700_000_200,
        "status": "pass" if passed else "fail",
        "datasource_item_id": number,
        "datasource_item": {"answer": "Paris", "n": number},
        "results": [{"name": EXACT_ID, "score": 1.0 if passed else 0.0, "passed": passed, "sample": None}],
        "sample": {
            "input": [{"role": "user", "content": "What is the capital of France?"}],
            "output": [{"role": "assistant", "content": said, "tool_calls": None}],
            "finish_reason": "stop",
            "model": "gpt-4o",
            "usage": {"total_tokens": 3, "completion_tokens": 1, "prompt_tokens": 2, "cached_tokens": 0},
            "error": None,
            "temperature": 1.0,
            "max_completion_tokens": 100,
            "top_p": 1.0,
            "seed": 42,
        },
        **more,
    }


def run(id_: str = "evalrun_1", passed: int = 2, failed: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "object": "eval.run",
        "id": id_,
        "eval_id": "eval_1",
        "report_url": "https://platform.openai.com/evaluations/eval_1",
        "status": "completed",
        "model": "gpt-4o",
        "name": "first",
        "created_at": 1_700_000_100,
        "result_counts": {"total": passed + failed, "passed": passed, "failed": failed, "errored": 0},
        "per_model_usage": [
            {
                "model_name": "gpt-4o",
                "invocation_count": 3,
                "prompt_tokens": 6,
                "completion_tokens": 3,
                "total_tokens": 9,
                "cached_tokens": 0,
            }
        ],
        "per_testing_criteria_results": [{"testing_criteria": EXACT_ID, "passed": passed, "failed": failed}],
        "data_source": {
            "type": "completions",
            "model": "gpt-4o",
            "source": {"type": "file_id", "id": "file-1"},
            "input_messages": {"type": "template", "template": [{"role": "user", "content": "What?"}]},
        },
        "error": None,
        "metadata": {},
        **more,
    }


def lines(values: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


class Hosted:
    """An archive that grows as the service does."""

    def __init__(self, folder: Path, source: str = SOURCE) -> None:
        self.archive = Archive(folder)
        self.archive.save_manifest({"source": source})

    def evals(self, *given: dict[str, Any]) -> "Hosted":
        self.archive.write("evals.jsonl", lines(given))
        return self

    def run(self, given: dict[str, Any], items: Sequence[dict[str, Any]]) -> "Hosted":
        self.archive.write(part_name("runs", given["id"], ".json"), json.dumps(given, indent=1).encode())
        self.archive.write(part_name("items", given["id"], ".jsonl"), lines(items))
        return self

    def files(self, *given: tuple[dict[str, Any], bytes]) -> "Hosted":
        for about, content in given:
            self.archive.write(part_name("files", about["id"]), content)
        self.archive.write("files.jsonl", lines([about for about, _ in given]))
        return self


def file(id_: str = "file-1", **more: Any) -> tuple[dict[str, Any], bytes]:
    content = b'{"item": {"answer": "Paris"}}\n'
    about = {"id": id_, "object": "file", "bytes": len(content), "created_at": 1_700_000_000, "filename": "a.jsonl"}
    return {**about, "purpose": "evals", "status": "processed", **more}, content


def three_rows(folder: Path, source: str = SOURCE) -> Hosted:
    """One eval, its run of three rows of which one failed, and the file."""
    items = [item("evalrun_1", 0), item("evalrun_1", 1), item("evalrun_1", 2, passed=False)]
    return Hosted(folder, source).evals(eval_()).run(run(), items).files(file())
