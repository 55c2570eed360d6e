"""The result as a file."""

import json
import os
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.errors import EvaluationFailed

RESULTS_FILE = "evaluation_results.json"


def place(output_path: Any) -> Path | None:
    """Where the result is to be saved, if it is: the file itself, or a file of ours in a directory that exists."""
    if output_path is None:
        return None
    if not isinstance(output_path, (str, os.PathLike)):
        raise EvaluationFailed(f"output_path: expected a path, found {jsontext.describe(output_path)}.")
    path = Path(output_path)
    if path.is_dir():
        return path / RESULTS_FILE
    if not path.parent.is_dir():
        raise EvaluationFailed(f"output_path: there is no directory {path.parent}. It has to be there before.")
    return path


def save(result: dict[str, Any], path: Path) -> None:
    """One line of JSON, with NaN where a row has no value. What JSON does not know is written as its text."""
    try:
        text = json.dumps(result, ensure_ascii=False, default=str)
        path.write_bytes(text.encode(errors="backslashreplace"))  # half an emoji becomes its escape again
    except (OSError, TypeError, ValueError, RecursionError) as error:
        reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
        failure = EvaluationFailed(f"output_path: {path}: {reason}. The result is in this error's `result`.")
        failure.result = result
        raise failure from error
