"""The registry of openai/evals: YAML that names a class and a file of samples. An eval for each entry with samples.

Match, Includes and FuzzyMatch are rules that are the same here; ModelBasedClassify is a prompt, and comes as a draft.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.data.dataset import refuse_format
from fairmark.errors import InvalidData
from fairmark.moving.files import classify, generated, yamltext
from fairmark.moving.files.assertions import OUTPUT
from fairmark.moving.files.notes import NotConverted
from fairmark.moving.files.promptfoo_config import NO_MODEL
from fairmark.moving.files.reading import digest_of, opened
from fairmark.moving.files.writing import Maker

FORMAT = "openai/evals registry"
MOST_FILES = 5000


def is_registry(value: Any) -> bool:
    """Entries by name, of which at least one names a class of that package or its samples."""
    return isinstance(value, dict) and any(
        isinstance(entry, dict)
        and isinstance(entry.get("class"), str)
        and (":" in entry["class"] or (isinstance(entry.get("args"), dict) and "samples_jsonl" in entry["args"]))
        for entry in value.values()
    )


class _RegistryEntry(NamedTuple):
    place: str
    name: str
    spec: Mapping[str, Any]
    data: list[Path]
    """Folders in which its samples may lie."""
    root: Path
    """Nothing beyond this folder is read."""


class EvalsRegistry:
    """What there is in a folder, or beside one file of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_dir():
            self.root = path.resolve()
            self.files = sorted(self._below("evals")) or sorted(path.glob("*.yaml"))
            self.graded = sorted(self._below("modelgraded"))
        else:
            # registry/evals/x.yaml beside registry/data and registry/modelgraded
            self.root = (path.parent.parent if path.parent.name == "evals" else path.parent).resolve()
            self.files = [path]
            self.graded = sorted(self.root.glob("modelgraded/**/*.yaml"))
        if len(self.files) > MOST_FILES:
            raise InvalidData(f"{path}: {len(self.files):,} files. At most {MOST_FILES:,} are read.")

    def _below(self, folder: str) -> Iterator[Path]:
        for start in (self.path / folder, self.path / "registry" / folder, self.path / "evals" / "registry" / folder):
            yield from start.glob("**/*.yaml")

    def entries(self, maker: Maker) -> Iterator[_RegistryEntry]:
        for file in self.files:
            place = str(file.relative_to(self.path)) if self.path.is_dir() else ""
            try:
                value = yamltext.decode(file.name, file.read_bytes(), last_wins=True)
            except (InvalidData, OSError) as error:
                maker.report.note("problem", place, str(error))
                continue
            home = file.parent.parent if file.parent.name == "evals" else file.parent
            for name, spec in (value or {}).items() if isinstance(value, dict) else ():
                where = f"{place}: {name}" if place else name
                if not isinstance(spec, dict):
                    maker.report.note("problem", where, f"found {jsontext.describe(spec)}. It takes an object.")
                elif "class" in spec:
                    yield _RegistryEntry(where, name, spec, [home / "data", file.parent], self.root)
                elif "id" not in spec:
                    maker.report.note("told", where, "it has no class: nothing to convert.")

    def judges(self, maker: Maker) -> dict[str, Any]:
        """Specs of ModelBasedClassify by name."""
        specs: dict[str, Any] = {}
        for file in self.graded:
            try:
                value = yamltext.decode(file.name, file.read_bytes(), last_wins=True)
            except (InvalidData, OSError) as error:
                maker.report.note("problem", file.name, str(error))
                continue
            specs |= value if isinstance(value, dict) else {}
        return specs


def convert(path: Path, maker: Maker) -> None:
    registry = EvalsRegistry(path)
    judges = registry.judges(maker)
    for entry in registry.entries(maker):
        try:
            _convert_entry(entry, maker, judges)
        except InvalidData as error:
            maker.report.note("problem", entry.place, str(error))
        except NotConverted as error:
            maker.report.note("refused", entry.place, str(error))
    if not maker.report.made["evals"]:
        notes = [*maker.report.of_kind("problem"), *maker.report.of_kind("refused")]
        why = f"; the first: {notes[0]}" if notes else ""
        raise InvalidData(f"none of its entries can be converted{why}")


def _convert_entry(entry: _RegistryEntry, maker: Maker, judges: Mapping[str, Any]) -> None:
    args = entry.spec.get("args") or {}
    if not isinstance(args, dict) or not isinstance(args.get("samples_jsonl"), str):
        raise NotConverted("it has no samples_jsonl: only evals over a file of samples are converted")
    class_ = str(entry.spec["class"]).rpartition(":")[2]
    if class_ not in ("Match", "Includes", "FuzzyMatch", "ModelBasedClassify"):
        raise NotConverted(f"class {class_} has no twin: it is code of its own")
    samples = _samples(entry, args["samples_jsonl"])
    texts, fields = _look(samples, class_)
    if class_ == "ModelBasedClassify":
        grader = classify.grader(entry.name, args, judges, fields)
        maker.report.note("draft", entry.place, f"ModelBasedClassify → {grader['type']} draft")
    else:
        grader, into = _matching(class_, args, texts)
        maker.report.note("exact", entry.place, f"{class_} → {into}")
    if args.get("num_few_shot"):
        text = f"num_few_shot {args['num_few_shot']}: the examples before the question are not taken over."
        maker.report.note("differs", entry.place, text)
    key = f"{entry.name} {jsontext.write(grader)} {digest_of(samples)}"
    file_id = maker.add_rows(key, f"{entry.name}.jsonl", ({"item": item} for _, item in _read(samples)))
    eval_ = maker.add_eval(key, entry.name, [grader], sorted(fields), {"rows": file_id})
    body = {
        "type": "completions",
        "source": {"type": "file_id", "id": file_id},
        "model": NO_MODEL,
        "input_messages": {"type": "item_reference", "item_reference": "item.input"},
        **({"sampling_params": {"temperature": 0.0}} if class_ in ("Match", "FuzzyMatch") else {}),
    }
    maker.report.starts.append((eval_["id"], {"name": entry.name, "data_source": body}))


def _matching(class_: str, args: Mapping[str, Any], texts: bool) -> tuple[dict[str, Any], str]:
    ignore_case = bool(args.get("ignore_case"))
    if class_ == "Includes" and texts:
        operation = "ilike" if ignore_case else "like"
        check = {
            "type": "string_check",
            "name": class_,
            "input": OUTPUT,
            "reference": "{{item.ideal}}",
            "operation": operation,
        }
        return check, f"string_check {operation}"
    rule = "Includes, ignore_case" if class_ == "Includes" and ignore_case else class_
    return generated.grader(class_, rule, 'item["ideal"]'), "a python grader"


def _samples(entry: _RegistryEntry, name: str) -> Path:
    """Raises InvalidData where there is no such file, or it would lie outside of the registry."""
    for folder in entry.data:
        path = (folder / name).resolve()
        if not path.is_relative_to(entry.root):
            raise InvalidData(f"samples_jsonl: {jsontext.quote(name)} leads out of {entry.root}, and is not read")
        if path.is_file():
            return path
    where = " or ".join(str(folder) for folder in entry.data)
    raise InvalidData(f"samples_jsonl: there is no {jsontext.quote(name)} in {where}")


def _look(samples: Path, class_: str) -> tuple[bool, dict[str, None]]:
    """Whether every ideal is one text, and the fields of the rows. Raises InvalidData with the line."""
    texts, fields = True, dict[str, None]()
    count = 0
    for number, item in _read(samples):
        count += 1
        fields |= dict.fromkeys(item)
        if class_ == "ModelBasedClassify":
            continue
        ideal = item.get("ideal")
        is_list = isinstance(ideal, list) and all(isinstance(text, str) for text in ideal)
        if "input" not in item or not (isinstance(ideal, str) or is_list):
            instead = jsontext.describe(ideal) if "ideal" in item else "none"
            raise InvalidData(
                f"{samples.name}, line {number}: ideal: found {instead}. It takes a text or a list of texts."
            )
        texts = texts and isinstance(ideal, str)
    if not count:
        raise InvalidData(f"{samples.name}: there are no rows in it")
    return texts, fields


def _read(samples: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with opened(samples) as file:
        refuse_format(str(samples), file)
        for number, line in enumerate(file, 1):
            text = line.strip()
            if not text:
                continue
            if number == 1 and text.startswith(b"version https://git-lfs"):
                raise InvalidData(f"{samples.name}: it is a pointer of Git LFS, without its content: git lfs pull")
            try:
                item = jsontext.decode(text)
            except jsontext.NotJson as error:
                raise InvalidData(f"{samples.name}, line {number}: not JSON: {error}") from None
            if not isinstance(item, dict):
                raise InvalidData(
                    f"{samples.name}, line {number}: found {jsontext.describe(item)}. It takes an object."
                )
            yield number, item
