"""What a request for a fine-tuning job says, checked to the last field. Raises ApiError for what is wrong."""

import math
import secrets
from collections.abc import Callable, Iterable
from typing import Any

from fairmark import jsontext
from fairmark.errors import InvalidGrader, Problem
from fairmark.evals.eval_calls import read_metadata
from fairmark.finetuning.paths import unknown_sample_paths
from fairmark.judges.chosen import unlisted as unlisted_by_providers
from fairmark.parse import aparse
from fairmark.readiness import lacks, models, unlisted
from fairmark.references import NOTE
from fairmark.refusals import invalid, invalid_grader, missing, wrong_type
from fairmark.spec import GraderSpec

KINDS = ("string_check", "text_similarity", "python", "score_model", "multi")
KINDS_INSIDE = ("string_check", "text_similarity", "python", "score_model", "label_model")
"""What a multi grader of a job may hold."""
EFFORTS = ("default", "low", "medium", "high")
FORMATS = ("text", "json_object", "json_schema")
MOST_INTEGRATIONS = 5
MOST_TAGS, LONGEST_TAG = 50, 256
LONGEST_MODEL, LONGEST_SUFFIX, GREATEST_SEED = 256, 64, 2_147_483_647
GRADER = "method.reinforcement.grader"
FILES = ("training_file", "validation_file", "answers_file", "validation_answers_file")
FIELDS = (*FILES, "model", "suffix", "seed", "metadata", "integrations", "method", "hyperparameters")

Expand = Callable[[dict[str, Any]], Any]


def read_job(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str] | None]:
    """The body of a new job, in its wire form, and its metadata. Its grader and its files are looked at by others."""
    check_no_others(fields, FIELDS, "")
    model = fields.get("model")
    if model is None:
        raise missing("model", "It takes the name of the model to train.")
    check_text("model", model, LONGEST_MODEL)
    if fields.get("training_file") is None:
        raise missing("training_file", "It takes the id of a file that was uploaded with the purpose fine-tune.")
    for name in FILES:
        if fields.get(name) is not None:
            check_text(name, fields[name], 100)
    if fields.get("validation_answers_file") is not None and fields.get("validation_file") is None:
        raise invalid("validation_answers_file: there is no validation_file that it could be about.", "validation_file")
    method = _method(fields.get("method"))
    if fields.get("hyperparameters") is not None:
        message = "hyperparameters: those of a reinforcement job stand in method.reinforcement.hyperparameters."
        raise invalid(message, "hyperparameters")
    suffix, seed = fields.get("suffix"), fields.get("seed")
    if suffix is not None:
        check_text("suffix", suffix, LONGEST_SUFFIX)
    if seed is None:
        seed = secrets.randbelow(GREATEST_SEED + 1)
    else:
        check_whole("seed", seed, 0, GREATEST_SEED)
    body = {
        "model": model,
        **{name: fields.get(name) for name in FILES},
        "method": method,
        "seed": int(seed),
        "user_provided_suffix": suffix,
        "integrations": _integrations(fields.get("integrations")),
    }
    return body, read_metadata(fields)


async def read_grader(grader: Any, expand: Expand, *, asks_models: bool) -> dict[str, Any]:
    """The grader of a job, normalised, with what its references lead to now. This machine can run it."""
    if grader is None:
        raise missing(GRADER, f"It takes a grader: {', '.join(KINDS)}.")
    if not isinstance(grader, dict):
        raise wrong_type(GRADER, "an object", grader)
    try:
        spec = await aparse(await expand(grader))
        problems = list(_of_other_kinds(spec)) or [
            *unknown_sample_paths(spec),
            *(problem for problem in lacks(spec) if asks_models or problem.code == "image_not_installed"),
        ]
        if asks_models and not problems:
            problems = unlisted(spec, await unlisted_by_providers({name for _, name in models(spec)}))
    except InvalidGrader as error:
        problems = error.problems
    if problems:
        raise invalid_grader(InvalidGrader(problems), GRADER)
    return _without_notes(spec.echo())


def _of_other_kinds(spec: GraderSpec) -> Iterable[Problem]:
    if spec.type not in KINDS:
        message = f"a job cannot be graded by {jsontext.quote(spec.type)}. Use one of: {', '.join(KINDS)}."
        yield Problem("$.type", message, "unsupported_grader")
    for key, child in spec.children.items():
        if child.type not in KINDS_INSIDE:
            message = f"a job's multi grader cannot hold {jsontext.quote(child.type)}. Use: {', '.join(KINDS_INSIDE)}."
            yield Problem(f"$.graders.{key}.type", message, "unsupported_grader")


def _without_notes(grader: dict[str, Any]) -> dict[str, Any]:
    """As if it had stood there from the start: the bundle goes to machines that know of no registry."""
    plain = {name: value for name, value in grader.items() if name != NOTE}
    if isinstance(plain.get("graders"), dict):
        plain["graders"] = {key: _without_notes(child) for key, child in plain["graders"].items()}
    return plain


def _method(method: Any) -> dict[str, Any]:
    wanted = 'It takes {"type": "reinforcement", "reinforcement": {"grader": …}}.'
    if method is None:
        message = f"method: missing, which means supervised. This server takes reinforcement jobs only. {wanted}"
        raise invalid(message, "method", "unsupported_method")
    if not isinstance(method, dict):
        raise wrong_type("method", "an object", method)
    kind = method.get("type")
    if kind is None:
        raise missing("method.type", wanted)
    if kind != "reinforcement":
        message = f"method.type: found {_shown(kind)}. This server takes reinforcement jobs only. {wanted}"
        raise invalid(message, "method.type", "unsupported_method")
    check_no_others(method, ("type", "reinforcement", "supervised", "dpo"), "method.")
    for other in ("supervised", "dpo"):
        if method.get(other) is not None:
            raise invalid(f"method.{other}: the method's type is reinforcement.", f"method.{other}")
    inside = method.get("reinforcement")
    where = "method.reinforcement"
    if inside is None:
        raise missing(where, wanted)
    if not isinstance(inside, dict):
        raise wrong_type(where, "an object", inside)
    check_no_others(inside, ("grader", "hyperparameters", "response_format"), f"{where}.")
    made = {"grader": inside.get("grader"), "hyperparameters": _hyperparameters(inside.get("hyperparameters"))}
    if inside.get("response_format") is not None:
        made["response_format"] = _response_format(inside["response_format"])
    return {"type": "reinforcement", "reinforcement": made}


def _hyperparameters(parameters: Any) -> dict[str, Any]:
    """All of them: what was not said is `auto`."""
    where = "method.reinforcement.hyperparameters"
    if parameters is not None and not isinstance(parameters, dict):
        raise wrong_type(where, "an object", parameters)
    parameters = parameters or {}
    check_no_others(parameters, (*_RANGES, "reasoning_effort"), f"{where}.")
    made: dict[str, Any] = {}
    for name, check in _RANGES.items():
        value = parameters.get(name)
        made[name] = "auto" if value is None else value
        if made[name] != "auto":
            check(f"{where}.{name}", value)
    effort = parameters.get("reasoning_effort")
    if effort is not None and effort not in EFFORTS:
        message = f"{where}.reasoning_effort: found {_shown(effort)}. Use one of: {', '.join(EFFORTS)}."
        raise invalid(message, f"{where}.reasoning_effort")
    return {**made, "reasoning_effort": effort or "default"}


def _response_format(wanted: Any) -> dict[str, Any]:
    where = "method.reinforcement.response_format"
    if not isinstance(wanted, dict):
        raise wrong_type(where, "an object", wanted)
    if wanted.get("type") not in FORMATS:
        message = f"{where}.type: found {_shown(wanted.get('type'))}. Use one of: {', '.join(FORMATS)}."
        raise invalid(message, f"{where}.type")
    if wanted["type"] == "json_schema":
        schema = wanted.get("json_schema")
        if schema is None:
            raise missing(f"{where}.json_schema", 'It takes {"name": …, "schema": {…}}.')
        if not isinstance(schema, dict):
            raise wrong_type(f"{where}.json_schema", "an object", schema)
        check_text(f"{where}.json_schema.name", schema.get("name"), 64)
        if not isinstance(schema.get("schema", {}), dict):
            raise wrong_type(f"{where}.json_schema.schema", "an object", schema["schema"])
    return wanted


def _integrations(integrations: Any) -> list[dict[str, Any]] | None:
    if integrations is None:
        return None
    if not isinstance(integrations, list):
        raise wrong_type("integrations", "a list", integrations)
    if len(integrations) > MOST_INTEGRATIONS:
        message = f"integrations: found {len(integrations)}. It takes at most {MOST_INTEGRATIONS}."
        raise invalid(message, "integrations")
    for index, integration in enumerate(integrations):
        _integration(f"integrations[{index}]", integration)
    return integrations


def _integration(where: str, integration: Any) -> None:
    if not isinstance(integration, dict):
        raise wrong_type(where, "an object", integration)
    check_no_others(integration, ("type", "wandb"), f"{where}.")
    if integration.get("type") != "wandb":
        raise invalid(f"{where}.type: found {_shown(integration.get('type'))}. It takes wandb.", f"{where}.type")
    wandb = integration.get("wandb")
    if wandb is None:
        raise missing(f"{where}.wandb", 'It takes {"project": …}.')
    if not isinstance(wandb, dict):
        raise wrong_type(f"{where}.wandb", "an object", wandb)
    check_no_others(wandb, ("project", "name", "entity", "tags"), f"{where}.wandb.")
    if wandb.get("project") is None:
        raise missing(f"{where}.wandb.project", "It takes the name of a project.")
    for name in ("project", "name", "entity"):
        if wandb.get(name) is not None:
            check_text(f"{where}.wandb.{name}", wandb[name], LONGEST_TAG)
    tags = wandb.get("tags")
    if tags is not None:
        if not isinstance(tags, list) or len(tags) > MOST_TAGS:
            raise wrong_type(f"{where}.wandb.tags", f"a list of at most {MOST_TAGS} strings", tags)
        for index, tag in enumerate(tags):
            check_text(f"{where}.wandb.tags[{index}]", tag, LONGEST_TAG)


def check_text(where: str, value: Any, most: int) -> None:
    if not isinstance(value, str):
        raise wrong_type(where, "a string", value)
    if not 1 <= len(value) <= most:
        raise invalid(f"{where}: it has {len(value)} characters. It takes 1 to {most}.", where)


def check_whole(where: str, value: Any, least: int, most: int | None = None) -> None:
    wanted = f"a whole number from {least}" + (f" to {most}" if most is not None else " on")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(where, wanted, value)
    if value < least or (most is not None and value > most):
        raise invalid(f"{where}: found {jsontext.describe(value)}. It takes {wanted}.", where)


def _above(where: str, value: Any, bound: float, most: float = math.inf) -> None:
    wanted = f"a number above {bound:g}" + (f" up to {most:g}" if most < math.inf else "")
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise wrong_type(where, wanted, value)
    if not bound < value <= most or value > 1e300:
        raise invalid(f"{where}: found {jsontext.describe(value)}. It takes {wanted}.", where)


# Each takes "auto" too.
_RANGES: dict[str, Callable[[str, Any], None]] = {
    "batch_size": lambda where, value: check_whole(where, value, 1, 256),
    "learning_rate_multiplier": lambda where, value: _above(where, value, 0),
    "n_epochs": lambda where, value: check_whole(where, value, 1, 50),
    "eval_interval": lambda where, value: check_whole(where, value, 1),
    "eval_samples": lambda where, value: check_whole(where, value, 1),
    "compute_multiplier": lambda where, value: _above(where, value, 0.00001, 10),
}


def check_no_others(fields: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in fields:
        if name not in known:
            shown = where + jsontext.shorten(name, 64)
            near = jsontext.nearest(name, known)
            raise invalid(f"{shown}: unknown. Use: {', '.join(known)}.{near}", shown, "unknown_parameter")


def _shown(value: Any) -> str:
    return jsontext.quote(value) if isinstance(value, str) else jsontext.describe(value)
