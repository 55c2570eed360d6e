"""Every module has a test file of its name in the room of its name, or a reason why it has none."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fairmark"
TESTS = ROOT / "tests"

WITHOUT = {
    "__main__.py": "one line, run by tests/cli/test_help.py",
    "cli/shared/exits.py": "a table of numbers; tests of each command hold them",
    "client/backend.py": "a protocol; both that follow it are tested side by side in tests/client",
    "graders/programs/candidate.py": "runs in the sandbox alone; tests/graders/test_code_tests.py",
    "graders/programs/examiner.py": "runs in the sandbox alone; tests/graders/test_code_tests.py",
    "graders/programs/mathematics.py": "runs in the sandbox alone; tests/graders/test_math_equal.py",
    "graders/programs/wire.py": "runs in the sandbox alone; tests/graders/test_code_tests.py",
    "endpoints/base.py": "a protocol and its records",
    "rewardserver/serve.py": "starts a process; tests/cli/server/test_reward_server.py does",
    "sandbox/base.py": "a protocol and its records",
    "sandbox/inside/adaptive_harmony.py": "runs in the sandbox alone; tests/test_harmony.py",
    "sandbox/inside/attempts.py": "runs in the sandbox alone; every sandbox that starts has run it",
    "sandbox/inside/runner.py": "runs in the sandbox alone; tests/sandbox/test_runners.py and test_framing.py",
    "sandbox/inside/zygote.py": "runs in the sandbox alone; tests/sandbox/test_zygotes.py and test_bubblewrap.py",
    "server/app.py": "puts the parts together; every test of tests/server goes through it",
    "store/jobs/entries.py": "with the jobs that they belong to, in tests/store/jobs/test_jobs.py",
    "store/base/tables.py": "a table of tables; tests/store/base/test_revisions.py holds it against the migrations",
}
NEIGHBOURS = {
    "cli/moving/import_hosted pulling": "tests/moving/pull/test_door.py",
    "completions/exchange keeping relay": "tests/server/test_passing.py",
    "server/member": "tests/server/test_supervisor.py",
    "web/admin/limits": "tests/server/test_limits.py",
    "evals/logged": "tests/server/test_logged_runs.py",
    "judges/responses": "tests/server/test_logged_runs.py",
    "server/schemas/completions evals files imports registry runs": "tests/server/test_openapi.py",
    "web/logs/grading listing turns": "tests/web/logs/test_logs.py",
    "cli/moving/moved": "tests/cli/moving/test_import.py",
    "cli/machine/retired": "tests/cli/machine/test_models.py",
    "moving/import_calls import_reports import_requests imports": "tests/server/test_imports.py",
    "serving/importing": "tests/server/test_imports.py",
    "moving/files/known": "tests/server/test_imports.py",
    "evals/file_calls": "tests/server/test_files.py",
    "moving/bodies": "tests/moving/load/test_load.py",
    "moving/load/evals files graders items loading report runs": "tests/moving/load/test_load.py",
    "store/received": "tests/moving/load/test_load.py",
    "finetuning/asking baseline job_calls paths workoff": "tests/finetuning/test_engine.py",
    "finetuning/bundled/reward train_trl": "tests/finetuning/test_bundle.py",
    "moving/files/assertions classify drafts notes promptfoo_tests reading schemas writing": (
        "tests/moving/files/test_converting.py"
    ),
    "moving/pull/completions disk dry evals files jobs journal models reader rebuilt responses tally": (
        "tests/moving/pull/test_pull.py"
    ),
    "server/schemas/jobs": "tests/server/test_finetuning.py",
    "web/jobs/listing": "tests/web/jobs/test_jobs.py",
    "serving/registering": "tests/server/test_registry.py",
    "rewardserver/answers": "tests/rewardserver/test_app.py",
    "trainers/borrowed chat": "tests/trainers/test_fireworks.py",
    "trainers/single": "tests/trainers/test_slime.py",
    "trust/asking plan probes sheet": "tests/trust/test_check.py",
    "trust/dump page": "tests/trust/test_plots.py",
    "trust/hacking_page": "tests/trust/test_hacking.py",
    "cli/trust/checking": "tests/cli/trust/test_judge.py",
    "checks/check_calls report_calls requests fields": "tests/server/test_checks.py",
    "checks/workoff": "tests/checks/test_engine.py",
    "server/schemas/checks": "tests/server/test_openapi.py",
    "web/frame/uploads": "tests/web/graders/test_checking.py",
    "trust/gold": "tests/trust/test_hacking.py",
    "trust/figures": "tests/trust/test_plots.py",
}
"""Modules that so far are tested through others, by that file among others. A new one has a file of its own."""
for _modules, _file in NEIGHBOURS.items():
    _room, _, _first = _modules.partition(" ")[0].rpartition("/")
    for _name in [_first, *_modules.split()[1:]]:
        WITHOUT[f"{_room}/{_name}.py"] = f"through its neighbours, in {_file}"

TOGETHER = {"store/migrations": "tests/store/base/test_revisions.py runs them all, on both databases"}


def modules() -> list[Path]:
    return [path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py")) if path.name != "__init__.py"]


def mirror(module: Path) -> Path:
    return TESTS / module.parent / f"test_{module.stem.strip('_')}.py"


def test_every_module_has_a_test_file_of_its_name_or_a_reason() -> None:
    lacking = [
        str(module)
        for module in modules()
        if not mirror(module).exists()
        and module.as_posix() not in WITHOUT
        and not any(module.is_relative_to(folder) for folder in TOGETHER)
    ]
    assert lacking == [], "write tests/ROOM/test_MODULE.py, or say in WITHOUT why there is none"


def test_a_reason_stands_only_where_it_is_needed() -> None:
    assert [name for name in WITHOUT if not (SOURCE / name).exists() or mirror(Path(name)).exists()] == []
    assert [name for name in TOGETHER if not (SOURCE / name).is_dir()] == []


def test_a_reason_names_test_files_that_are_there() -> None:
    for reason in [*WITHOUT.values(), *TOGETHER.values()]:
        for word in reason.replace(",", " ").replace(";", " ").replace("'s", " ").split():
            if word.startswith("tests/"):
                assert (ROOT / word).exists(), word
