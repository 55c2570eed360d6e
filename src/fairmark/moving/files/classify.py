"""ModelBasedClassify of openai/evals: a prompt, the choices a judge has, and what each is worth. Always a draft."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from fairmark import jsontext
from fairmark.moving.files.drafts import NO_JUDGE, reason, refused_until_accepted
from fairmark.moving.files.notes import NotConverted

_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")


def grader(name: str, args: Mapping[str, Any], judges: Mapping[str, Any], fields: Collection[str]) -> dict[str, Any]:
    """A label_model where every choice is worth 0 or 1, otherwise a score_model. Raises NotConverted."""
    wanted = args.get("modelgraded_spec")
    spec = judges.get(wanted) if isinstance(wanted, str) else None
    if not isinstance(spec, dict):
        raise NotConverted(f"modelgraded_spec: there is no {jsontext.quote(str(wanted))} beside it, in modelgraded/")
    if args.get("multicomp_n", 1) != 1:
        raise NotConverted("multicomp_n: several answers are judged together")
    if args.get("metaeval"):
        raise NotConverted("metaeval: it judges the judge")
    prompt = spec.get("prompt")
    if not isinstance(prompt, str):
        raise NotConverted(f"prompt: found {jsontext.describe(prompt)}. It takes a text.")
    labels = _labels(spec.get("choice_strings"))
    scores = _scores(spec.get("choice_scores"), labels)
    completion = _completion(spec.get("input_outputs"))
    extra = args.get("modelgraded_spec_args") or {}
    judge: dict[str, Any] = {
        "name": str(wanted),
        "model": NO_JUDGE,
        "input": [{"role": "user", "content": _template(prompt, completion, extra, fields)}],
    }
    draft = refused_until_accepted(reason("ModelBasedClassify", NO_JUDGE))
    if scores and set(scores.values()) == {0.0, 1.0}:
        passing = [label for label in labels if scores[label] == 1.0]
        return {"type": "label_model", **judge, "labels": labels, "passing_labels": passing, **draft}
    if not scores:
        judge["input"][0]["content"] += (
            f"\n\nChoices: {', '.join(labels)}. Say what each is worth before you accept this."
        )
        return {"type": "score_model", **judge, "range": [0, 1], **draft}
    worth = ", ".join(f"{label} is {value:g}" for label, value in scores.items())
    judge["input"][0]["content"] += f"\n\nAnswer with the number of your choice: {worth}."
    low, high = min(scores.values()), max(scores.values())
    return {"type": "score_model", **judge, "range": [low, high if high > low else low + 1], **draft}


def _labels(given: Any) -> list[str]:
    if isinstance(given, str) and given and not given.startswith("from_"):
        return list(given)
    if isinstance(given, list) and given and all(isinstance(label, str) for label in given):
        return given
    raise NotConverted(f"choice_strings: found {jsontext.describe(given)}. It takes a list of texts.")


def _scores(given: Any, labels: list[str]) -> dict[str, float]:
    """What each choice is worth; nothing where nobody said."""
    if given == "from_strings":
        try:
            return {label: float(label) for label in labels}
        except ValueError:
            raise NotConverted("choice_scores: from_strings, and the choices are no numbers") from None
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(given.get(label), (int, float)) for label in labels):
        raise NotConverted("choice_scores: not every choice has a number")
    return {label: float(given[label]) for label in labels}


def _completion(given: Any) -> str:
    """The name under which the prompt knows the answer."""
    if isinstance(given, dict) and len(given) == 1:
        return str(next(iter(given.values())))
    raise NotConverted("input_outputs: more than one answer is judged together")


def _template(prompt: str, completion: str, extra: Mapping[str, Any], fields: Collection[str]) -> str:
    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name == completion:
            return "{{sample.output_text}}"
        if name in fields:
            return f"{{{{item.{name}}}}}"
        if isinstance(extra.get(name), str):
            return str(extra[name])
        raise NotConverted(f"prompt: {match[0]}: no such field is in the samples")

    return _FIELD.sub(fill, prompt)
