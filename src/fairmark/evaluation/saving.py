"""The result as a file."""

import json
import os
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.data.outfile import refuse_input, write_whole
from fairmark.errors import EvaluationFailed, InvalidData

RESULTS_FILE = "evaluation_results.json"


def place(output_path: Any, data: Any) -> Path | None:
    """Where the result is to be saved, if it is: the file itself, or a file of ours in a directory that exists.

    Never the file that holds the data.
    """
    path = _place(output_path)
    if path is not None and isinstance(data, (str, os.PathLike)):
        try:
            refuse_input(path, [data])
        except InvalidData as error:
            raise EvaluationFailed(f"output_path: {error}") from None
    return path


def _place(output_path: Any) -> Path | None:
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
        write_whole(path, text.encode(errors="backslashreplace"))  # half an emoji becomes its escape again
    except (OSError, TypeError, ValueError, RecursionError) as error:
        reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
        failure = EvaluationFailed(f"output_path: {path}: {reason}. The result is in this error's `result`.")
        failure.result = result
        raise failure from error
