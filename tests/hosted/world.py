"""What there is at the double: evals, runs, output items, files, completions, responses, jobs, made from a seed.

Objects are made when they are asked for, so that 200,000 output items take no room. Times are whole seconds and often
equal. Texts hold what breaks careless readers: line breaks in the JSON, half an emoji, numbers that floats cannot hold.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

BEGAN = 1_760_000_000
JUDGES = ("gpt-4o", "o3-mini", "gpt-6-luna")
REFUSED_PURPOSES = ("assistants", "user_data")


@dataclass(frozen=True)
class Size:
    """How much there is. Runs are of each eval, items of each run."""

    evals: int = 3
    runs: int = 4
    items: int = 25
    item_bytes: int = 200
    files: int = 6
    completions: int = 7
    responses: int = 3
    jobs: int = 2
    events: int = 12


class Entry(NamedTuple):
    """An object of a list: its id, its time, and how it is written."""

    id: str
    created_at: int
    text: Callable[[], str]


class World:
    """All of it. What changes it meanwhile is below `# changes`."""

    def __init__(self, size: Size | None = None, seed: int = 1) -> None:
        self.size = size or Size()
        self.seed = seed
        self.ends: dict[str, str] = {}
        """The day on which each of some models goes, as the list of models tells it."""
        self._changed: dict[str, dict[str, Any]] = {}
        self._items: dict[str, int] = {}
        self._eval_of: dict[str, int] = {}
        self._going: set[str] = set()
        self.evals = [self._eval(index) for index in range(self.size.evals)]
        self.runs = {entry.id: self._runs_of(index, entry.id) for index, entry in enumerate(self.evals)}
        self.files = [self._file(index) for index in range(self.size.files)]
        self.contents = {entry.id: self._content(index) for index, entry in enumerate(self.files)}
        self._special_files()
        self.completions = [self._completion(index) for index in range(self.size.completions)]
        self.responses = {entry.id: entry for entry in map(self._response, range(self.size.responses))}
        self.jobs = [self._job(index) for index in range(self.size.jobs)]

    def id(self, kind: str, *numbers: object) -> str:
        text = "/".join(map(str, (self.seed, kind, *numbers)))
        digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        return {"file": f"file-{digest[:22]}", "completion": f"chatcmpl-{digest}"}.get(kind, f"{kind}_{digest}")

    # Evals, runs and their items

    def _eval(self, index: int) -> Entry:
        id_ = self.id("eval", index)
        created_at = BEGAN + index // 3
        criteria: list[dict[str, Any]] = [
            {
                "type": "string_check",
                "name": "exact",
                "id": f"exact-{self.id('c', index)}",
                "input": "{{ sample.output_text }}",
                "reference": "{{ item.answer }}",
                "operation": "eq",
            },
            {
                "type": "score_model",
                "name": "tone",
                "id": f"tone-{self.id('t', index)}",
                "model": JUDGES[index % len(JUDGES)],
                "input": [{"role": "user", "content": "Rate: {{ sample.output_text }}"}],
                "range": [0, 1],
                "pass_threshold": 0.5,
            },
        ]
        if index % 3 == 1:
            criteria.append({"type": "azure_only_grader", "name": "theirs", "id": f"theirs-{self.id('a', index)}"})
        value = {
            "object": "eval",
            "id": id_,
            "data_source_config": {"type": "custom", "schema": {"type": "object", "properties": {}}},
            "testing_criteria": criteria,
            "name": f"Prüfung {index}",
            "created_at": created_at,
            "metadata": {"team": "north"},
            "shared_with_openai": False,
        }
        # Lists of evals come with line breaks, as the hosted service writes them.
        return Entry(id_, created_at, lambda: json.dumps({**value, **self._changed.get(id_, {})}, indent=2))

    def _runs_of(self, eval_index: int, eval_id: str) -> list[Entry]:
        return [self._run(eval_index, eval_id, index) for index in range(self.size.runs)]

    def _run(self, eval_index: int, eval_id: str, index: int) -> Entry:
        id_ = self.id("evalrun", eval_index, index)
        created_at = BEGAN + 100 + index // 2
        self._items[id_] = self.size.items
        self._eval_of[id_] = eval_index
        value = {
            "object": "eval.run",
            "id": id_,
            "eval_id": eval_id,
            "created_at": created_at,
            "name": f"run {index}",
            "metadata": {},
            "model": None,
            "report_url": "https://example.com/report",
            "error": None,
            "per_model_usage": [],
            "data_source": {"type": "jsonl", "source": self._source(eval_index, index)},
        }

        def text() -> str:
            return json.dumps({**value, **self._state(id_), **self._changed.get(id_, {})}, ensure_ascii=False)

        return Entry(id_, created_at, text)

    def _source(self, eval_index: int, index: int) -> dict[str, Any]:
        names = ("missing", "refused", "unlisted")
        if eval_index == 0 and index < len(names):
            return {"type": "file_id", "id": self.id("file", names[index])}
        if index % 2 and self.size.files:
            return {"type": "file_id", "id": self.id("file", index % self.size.files)}
        return {"type": "file_content", "content": [{"item": {"question": "Capital?", "answer": "Paris"}}]}

    def _state(self, run_id: str) -> dict[str, Any]:
        total = self._items[run_id]
        counts = {"total": total, "passed": total // 2, "failed": total - total // 2, "errored": 0}
        return {"status": "in_progress" if run_id in self._going else "completed", "result_counts": counts}

    def items_of(self, run_id: str) -> "Items":
        return Items(self, run_id, self._items[run_id])

    def item_id(self, run_id: str, index: int) -> str:
        return f"outputitem_{run_id[-24:]}{index:08x}"

    def item(self, run_id: str, index: int) -> str:
        eval_index, passed = self._eval_of[run_id], bool(index % 2)
        text = f"Nr. {index} \U0001f600 " + 'ab \\" \n' * (self.size.item_bytes // 8)
        value = {
            "object": "eval.run.output_item",
            "id": self.item_id(run_id, index),
            "created_at": BEGAN + 200 + index // 10,
            "run_id": run_id,
            "status": "pass" if passed else "fail",
            # Rows are not finished in their order.
            "datasource_item_id": index ^ 1 if index ^ 1 < self._items[run_id] else index,
            "datasource_item": {"question": text, "answer": "Paris"},
            "results": [
                {"name": f"exact-{self.id('c', eval_index)}", "score": float(passed), "passed": passed, "sample": None},
                {"name": f"tone-{self.id('t', eval_index)}", "score": 0.75, "passed": True, "sample": None},
            ],
            "sample": {
                "input": [],
                "output": [
                    {"role": "assistant", "content": "half \ud83d" if index == 5 else "Paris" if passed else "Rome"}
                ],
                "seed": 2**63,
            },
        }
        if self.size.responses and index == 3:
            value["sample"]["response_id"] = self.id("resp", 0)  # type: ignore[index]
        return json.dumps(value)

    # Files

    def _file(self, index: int) -> Entry:
        id_ = self.id("file", index)
        purpose = ("evals", "fine-tune", "evals", "fine-tune-results", "batch", "evals")[index % 6]
        return self._file_entry(id_, BEGAN + index // 2, purpose, len(self._content(index)))

    def _file_entry(self, id_: str, created_at: int, purpose: str, size: int) -> Entry:
        value = {
            "object": "file",
            "id": id_,
            "bytes": size,
            "created_at": created_at,
            "filename": f"{id_[-4:]}.jsonl",
            "purpose": purpose,
            "status": "processed",
        }
        return Entry(id_, created_at, lambda: json.dumps({**value, **self._changed.get(id_, {})}))

    def _content(self, index: int) -> bytes:
        row = json.dumps({"item": {"question": f"Nr. {index}", "answer": "ä"}}, ensure_ascii=False)
        return "".join(f"{row}\r\n" for _ in range(10 + index)).encode()

    def _special_files(self) -> None:
        """One that no list shows, one that is listed and cannot be downloaded; one more is nowhere at all."""
        unlisted, refused = self.id("file", "unlisted"), self.id("file", "refused")
        self.contents[unlisted] = self._content(3)
        self.unlisted = {unlisted: self._file_entry(unlisted, BEGAN, "evals", len(self.contents[unlisted]))}
        self.contents[refused] = self._content(4)
        self.files.append(self._file_entry(refused, BEGAN + 9, "user_data", len(self.contents[refused])))
        self.purposes = {entry.id: json.loads(entry.text())["purpose"] for entry in self.files}

    # Completions and responses

    def _completion(self, index: int) -> Entry:
        id_ = self.id("completion", index)
        message = {"role": "assistant", "content": f"Paris {index}", "refusal": None}
        value = {
            "object": "chat.completion",
            "id": id_,
            "created": BEGAN + index // 4,
            "model": "gpt-4o-2024-08-06",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            "metadata": {"n": str(index % 2)},
            "request_id": f"req_{index}",
        }
        return Entry(id_, BEGAN + index // 4, lambda: json.dumps({**value, **self._changed.get(id_, {})}, indent=2))

    def messages_of(self, completion_id: str) -> list[Entry]:
        count = 1 + int(completion_id[-2:], 16) % 3

        def text(index: int) -> str:
            value = {"id": f"{completion_id}-{index}", "role": "user", "content": f"Capital {index}?", "name": None}
            return json.dumps({**value, "content_parts": None}, indent=2)

        return [Entry(f"{completion_id}-{index}", BEGAN, lambda index=index: text(index)) for index in range(count)]  # type: ignore[misc]

    def _response(self, index: int) -> Entry:
        id_ = self.id("resp", index)
        value = {"object": "response", "id": id_, "created_at": BEGAN + index, "status": "completed", "output": []}
        return Entry(id_, BEGAN + index, lambda: json.dumps(value, indent=2))

    def input_items_of(self, response_id: str) -> list[Entry]:
        def text(id_: str, index: int) -> str:
            content = [{"type": "input_text", "text": f"Capital {index}?"}]
            return json.dumps({"id": id_, "type": "message", "role": "user", "content": content})

        ids = [f"msg_{response_id[5:20]}{index}" for index in range(2)]
        return [Entry(id_, BEGAN, lambda id_=id_, index=index: text(id_, index)) for index, id_ in enumerate(ids)]  # type: ignore[misc]

    # Jobs

    def _job(self, index: int) -> Entry:
        id_ = self.id("ftjob", index)
        value = {
            "object": "fine_tuning.job",
            "id": id_,
            "created_at": BEGAN + index // 2,
            "model": "o4-mini-2025-04-16",
            "status": "succeeded",
            "training_file": self.id("file", 1),
            "validation_file": None,
            "result_files": [self.id("file", 3)] if self.size.files > 3 else [],
            "eval_id": self.id("eval", 0),
            "method": {"type": "reinforcement", "reinforcement": {"grader": {"type": "string_check"}}},
            "usage_metrics": None,
        }
        return Entry(id_, BEGAN + index // 2, lambda: json.dumps({**value, **self._changed.get(id_, {})}, indent=2))

    def events_of(self, job_id: str) -> list[Entry]:
        return [self._part(job_id, "ftevent", "fine_tuning.job.event", index) for index in range(self.size.events)]

    def checkpoints_of(self, job_id: str) -> list[Entry]:
        kind = "fine_tuning.job.checkpoint"
        return [self._part(job_id, "ftckpt", kind, index) for index in range(self.size.events // 4)]

    def _part(self, job_id: str, kind: str, object_: str, index: int) -> Entry:
        id_ = self.id(kind, job_id, index)
        value = {"object": object_, "id": id_, "created_at": BEGAN + index // 5, "step": index, "data": {"x": 1e-7}}
        return Entry(id_, BEGAN + index // 5, lambda: json.dumps(value))

    @property
    def models(self) -> str:
        names = dict.fromkeys([*JUDGES, "gpt-4.1", *self.ends])
        data = [{"id": name, "object": "model", "shutdown_date": self.ends.get(name)} for name in names]
        return json.dumps({"object": "list", "data": data}, indent=2)

    # Changes

    def change(self, id_: str, **fields: Any) -> None:
        """An eval, a run, a file, a completion or a job has other fields from now on."""
        self._changed.setdefault(id_, {}).update(fields)

    def start(self, run_id: str, items: int) -> None:
        """The run is still going and has so many items so far."""
        self._going.add(run_id)
        self._items[run_id] = items

    def grow(self, run_id: str, items: int) -> None:
        self._items[run_id] += items

    def is_going(self, run_id: str) -> bool:
        return run_id in self._going

    def finish(self, run_id: str) -> None:
        self._going.discard(run_id)

    def add_eval(self) -> str:
        index = len(self.evals)
        self.evals.append(self._eval(index))
        eval_id = self.evals[-1].id
        self.runs[eval_id] = []
        return eval_id

    def add_run(self, eval_id: str) -> str:
        eval_index = [entry.id for entry in self.evals].index(eval_id)
        self.runs[eval_id].append(self._run(eval_index, eval_id, len(self.runs[eval_id])))
        return self.runs[eval_id][-1].id

    def remove_eval(self, eval_id: str) -> None:
        self.evals = [entry for entry in self.evals if entry.id != eval_id]
        del self.runs[eval_id]


class Items(Sequence[Entry]):
    """The output items of a run, made one by one."""

    def __init__(self, world: World, run_id: str, count: int) -> None:
        self._world = world
        self._run_id = run_id
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self._count))]
        id_ = self._world.item_id(self._run_id, index)
        return Entry(id_, BEGAN, lambda: self._world.item(self._run_id, index))

    def place(self, id_: str) -> int:
        """Where an id is; -1 where it is not."""
        index = int(id_[-8:], 16)
        return index if id_ == self._world.item_id(self._run_id, index) and index < self._count else -1
