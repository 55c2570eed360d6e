"""The newest openai package: graders.validate and graders.run for every kind, and every way to fail."""
# mypy: disable-error-code="import-not-found"

from typing import Any

from openai import OpenAI

from tests.clients.scripts.facts import name_of, tell

client = OpenAI()
graders = client.fine_tuning.alpha.graders

ALIGNMENT = {
    "type": "score_model",
    "name": "alignment",
    "model": "gpt-5-mini",
    "input": [
        {
            "role": "user",
            "content": [
                {
                    "type": "input_text",
                    "text": "Score how close they are.\n\nReference answer: {{item.reference_answer}}\n\n"
                    "Model answer: {{sample.output_text}}",
                }
            ],
        }
    ],
    "sampling_params": {"temperature": 1, "top_p": 1, "seed": 42},
}
KINDS: dict[str, dict[str, Any]] = {
    "string_check": {
        "type": "string_check",
        "name": "exact",
        "input": "{{sample.output_text}}",
        "reference": "{{item.reference_answer}}",
        "operation": "eq",
    },
    "text_similarity": {
        "type": "text_similarity",
        "name": "close",
        "input": "{{sample.output_text}}",
        "reference": "{{item.reference_answer}}",
        "evaluation_metric": "fuzzy_match",
    },
    "python": {
        "type": "python",
        "name": "length",
        "source": "def grade(sample, item):\n    return len(sample['output_text']) / len(item['reference_answer'])\n",
        "image_tag": "2025-05-08",
    },
    "score_model": ALIGNMENT,
    "label_model": {
        "type": "label_model",
        "name": "mood",
        "model": "gpt-5-mini",
        "input": [{"role": "user", "content": "{{sample.output_text}}: I love it"}],
        "labels": ["positive", "neutral", "negative"],
        "passing_labels": ["positive"],
    },
    "multi": {
        "type": "multi",
        "name": "both",
        "graders": {
            "exact": {
                "type": "string_check",
                "name": "exact",
                "input": "{{sample.output_text}}",
                "reference": "{{item.reference_answer}}",
                "operation": "ilike",
            },
            "alignment": ALIGNMENT,
        },
        "calculate_output": "0.5 * exact + 0.5 * alignment",
    },
}
ITEM = {"reference_answer": "fuzzy wuzzy was a bear"}
SAMPLE = "fuzzy wuzzy was a bear"


def judged(text: str) -> dict[str, Any]:
    return {**ALIGNMENT, "input": [{"role": "user", "content": text}]}


FAILING = {
    "invalid_variable": {**KINDS["string_check"], "reference": "{{item.no_such_field}}"},
    "sample_parse": {**KINDS["string_check"], "input": "{{sample.output_json.a}}"},
    "formula": {**KINDS["multi"], "calculate_output": "exact / (alignment - alignment)"},
    "python_runtime": {**KINDS["python"], "source": "def grade(sample, item):\n    return 1 / 0\n"},
    "model_refusal": judged("REFUSE"),
    "model_parse": judged("BABBLE"),
    "model_server": judged("BROKEN"),
}

validated = {}
for kind, grader in KINDS.items():
    answer = graders.validate(grader=grader)
    validated[kind] = {
        "class": name_of(answer.grader),
        "grader": answer.grader.to_dict(),
        "valid": answer.valid,
        "request_id": answer._request_id,
    }

ran = {}
for kind, grader in KINDS.items():
    run = graders.run(grader=grader, item=ITEM, model_sample=SAMPLE)
    ran[kind] = {
        "class": name_of(run),
        "reward": run.reward,
        "name": run.metadata.name,
        "type": run.metadata.type,
        "errors": run.metadata.errors.to_dict(),
        "scores": run.metadata.scores,
        "sub_rewards": run.sub_rewards,
        "takes_time": run.metadata.execution_time >= 0,
        "token_usage": run.metadata.token_usage,
        "sampled_model_name": run.metadata.sampled_model_name,
        "per_model": run.api_model_grader_token_usage_per_model,
        "request_id": run._request_id,
    }

failed = {}
for flag, grader in FAILING.items():
    run = graders.run(grader=grader, item=ITEM, model_sample=SAMPLE)
    errors = run.metadata.errors
    failed[flag] = {
        "reward": run.reward,
        "formula_parse": errors.formula_parse_error,
        "sample_parse": errors.sample_parse_error,
        "invalid_variable": errors.invalid_variable_error,
        "python_runtime": errors.python_grader_runtime_error,
        "python_details": errors.python_grader_runtime_error_details,
        "model_refusal": errors.api_model_grader_refusal_error,
        "model_parse": errors.api_model_grader_parse_error,
        "model_server": errors.api_model_grader_server_error,
        "model_details": errors.api_model_grader_server_error_details,
        "other": errors.other_error,
    }

raw = graders.with_raw_response.run(grader=KINDS["string_check"], item=ITEM, model_sample=SAMPLE)
wrong_raw = graders.with_raw_response.validate(grader=KINDS["string_check"])
tell(
    {
        "validated": validated,
        "ran": ran,
        "failed": failed,
        "header": raw.headers["x-request-id"],
        "content_type": wrong_raw.headers["content-type"],
        "reference_answer": graders.run(
            grader=KINDS["string_check"],
            model_sample="a bear",
            extra_body={"reference_answer": "a bear"},
        ).reward,
        "spellings": [
            graders.run(
                grader={
                    "type": "string_check",
                    "operation": "neq",
                    "input": "{{ sample.output_text }}",
                    "reference": "x",
                },
                model_sample="y",
            ).reward,
            graders.validate(
                grader={"type": "string_check", "operation": "neq", "input": "", "reference": ""}
            ).grader.to_dict(),
        ],
    }
)
