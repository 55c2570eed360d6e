"""TRL's GRPOTrainer with the callbacks of a job. Needs the extra `train`; imported only where training runs."""

import errno
import shutil
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from fairmark import jsontext
from fairmark.failures import in_words
from fairmark.row import content_text
from fairmark.training.course import Course, TrainingFailed
from fairmark.training.folder import JobFolder, checkpoint_name


class JobTrainer(GRPOTrainer):  # type: ignore[misc]  # TRL is not there where types are checked
    folder: JobFolder
    course: Course
    fine_tuned_model: str
    was_stopped = False

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        with self.course.sampling("train" if self.model.training else "valid"):
            return super()._generate_and_score_completions(inputs)

    def _save_checkpoint(self, *arguments: Any, **options: Any) -> None:
        """A checkpoint that cannot be written is told, and training goes on: the next one may be."""
        step = self.state.global_step
        place = Path(self.args.output_dir) / f"checkpoint-{step}"
        try:
            super()._save_checkpoint(*arguments, **options)
            self.folder.mark(place, {"step": step, "at": int(time.time())})
            self.folder.offer_checkpoints(self.fine_tuned_model)
        except Exception as error:  # safetensors and torch have errors of their own for a full disk
            shutil.rmtree(place, ignore_errors=True)
            message = f"The checkpoint of step {step} could not be written, and training goes on: {in_words(error)}"
            self.course.tell("event", level="warn", message=message)
            return
        facts = {"step": step} | ({} if self.course.loss is None else {"train_loss": self.course.loss})
        self.course.tell("checkpoint", step=step, model=checkpoint_name(self.fine_tuned_model, step), metrics=facts)


class CourseCallback(TrainerCallback):  # type: ignore[misc]
    def __init__(self, course: Course, has_validation: bool) -> None:
        self._course = course
        self._has_validation = has_validation
        self.trainer: JobTrainer | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._course.total_steps = state.max_steps
        self._course.tell("began", total_steps=state.max_steps, step=state.global_step)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._course.begin_step()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._course.end_step()
        if state.global_step >= state.max_steps:
            control.should_save = True
            control.should_evaluate = self._has_validation
        elif self._course.stop.is_set() and self.trainer is not None:
            self.trainer.was_stopped = True
            control.should_save = control.should_training_stop = True
            control.should_evaluate = False

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        if not logs or "loss" not in logs:
            return
        self._course.note_logs(logs)
        if not control.should_evaluate:
            self._course.tell_step(state.global_step)

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._course.end_validation()
        self._course.tell_step(state.global_step)


def make_trainer(folder: JobFolder, plan: dict[str, Any], course: Course) -> JobTrainer:
    """Raises TrainingFailed for a model or rows that cannot be trained."""
    tokenizer = _tokenizer(plan["model"])
    train_rows = _dataset(folder.train, plan["ignores_tools"])
    valid_rows = _dataset(folder.valid, plan["ignores_tools"]) if folder.valid.exists() else None
    on_cpu = not torch.cuda.is_available()
    defaults = {"use_cpu": True, "bf16": False} if on_cpu else {}
    try:
        config = GRPOConfig(output_dir=str(folder.output), **{**defaults, **plan["arguments"]})
    except (TypeError, ValueError) as error:
        raise TrainingFailed("invalid_configuration", f"TRL does not take the configuration: {error}") from None
    callback = CourseCallback(course, valid_rows is not None)
    try:
        trainer = JobTrainer(
            model=plan["model"],
            reward_funcs=course.reward,
            args=config,
            train_dataset=train_rows,
            eval_dataset=valid_rows,
            processing_class=tokenizer,
            callbacks=[callback],
        )
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise TrainingFailed(
            "model_unusable", f"the model {plan['model']} cannot be trained: {in_words(error)}"
        ) from None
    trainer.folder, trainer.course, trainer.fine_tuned_model = folder, course, plan["fine_tuned_model"]
    callback.trainer = trainer
    return trainer


def save(trainer: JobTrainer, place: Path) -> None:
    """Raises TrainingFailed where the disk takes it not."""
    try:
        trainer.save_model(str(place))
        trainer.processing_class.save_pretrained(str(place))
    except Exception as error:  # safetensors has errors of its own for a full disk
        full = (isinstance(error, OSError) and error.errno == errno.ENOSPC) or "No space left" in str(error)
        code = "disk_full" if full else "trainer_failed"
        raise TrainingFailed(code, f"the trained model could not be written: {in_words(error)}") from None


def _tokenizer(model: str) -> Any:
    try:
        tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left")
    except (OSError, ValueError, KeyError) as error:
        raise TrainingFailed("model_unusable", f"the tokenizer of {model} cannot be read: {in_words(error)}") from None
    if tokenizer.chat_template is None:
        raise TrainingFailed("model_unusable", f"{model} has no chat template, and the rows of jobs are chats.")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _dataset(path: Path, ignores_tools: bool) -> Any:
    """A column `prompt` for the trainer, and `row` with the whole item as JSON for the reward."""
    rows = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            item = jsontext.decode(line)["item"]
            if item.get("tools") and not ignores_tools:
                message = f"{path.name}, row {number}: it has tools, which this worker does not offer to the model."
                raise TrainingFailed("unsupported_rows", f"{message} --ignore-tools trains without them.")
            prompt = [_message(path.name, number, message) for message in item["messages"]]
            rows.append({"prompt": prompt, "row": jsontext.encode(item).decode()})
    return Dataset.from_list(rows)


def _message(name: str, number: int, message: dict[str, Any]) -> dict[str, str]:
    content = message.get("content")
    if isinstance(content, list):
        for part in content:
            if not isinstance(part, str) and not isinstance(part.get("text"), str):
                kind = part.get("type")
                raise TrainingFailed("unsupported_rows", f"{name}, row {number}: a part of type {kind} is no text.")
    return {"role": message["role"], "content": content_text(content)}
