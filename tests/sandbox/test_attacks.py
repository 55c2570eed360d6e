"""Every attack of the corpus, in both isolation levels, as root and as an ordinary user.

A driver in a process of its own grades the whole corpus once for each level and user; the tests look at its answers.
Tests that are not run by root cover the ordinary user alone.
"""

import fcntl
import json
import platform
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from tests.sandbox.attacks import ATTACKS, MACHINE_CODE, Attack
from tests.sandbox.users import USERS, User, environment, home_of, run_as

DRIVER = Path(__file__).with_name("driver.py")
FAMILIES = Counter(attack.family for attack in ATTACKS)
LEVELS = ["per_grader", "per_grade"]
HERE = [attack for attack in ATTACKS if platform.machine() == "x86_64" or attack not in MACHINE_CODE]
NOTHING_LEFT = {"status": 0, "processes": [], "mounts": [], "files": [], "temporary": [], "sysv": []}

Answers: TypeAlias = dict[str, dict[str, Any]]


class Way(NamedTuple):
    """How the corpus is run."""

    sandbox: str
    level: str
    user: User

    def __str__(self) -> str:
        return f"{self.level}-{self.user}" if self.sandbox == "bubblewrap" else "unprotected"


WAYS = [Way("bubblewrap", level, user) for user in USERS for level in LEVELS]
UNPROTECTED = Way("none", "per_grade", USERS[0])


def key(attack: Attack) -> str:
    return f"{attack.family}: {attack.name}"


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder of this test run, the same for all its workers."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture(scope="session")
def worker_id(request: pytest.FixtureRequest) -> str:
    return str(getattr(request.config, "workerinput", {}).get("workerid", "master"))


@pytest.fixture
def answers(shared_folder: Path, request: pytest.FixtureRequest) -> Answers:
    """What the driver said of one way. The first worker that asks runs it; the others wait and read."""
    way: Way = request.param
    attacks = [attack for attack in HERE if way.sandbox != "none" or attack.harmless]
    with (shared_folder / f"attacks-{way}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cache = shared_folder / f"attacks-{way}.json"
        if not cache.exists():
            cache.write_text(json.dumps(drive(way, attacks)))
        found: Answers = json.loads(cache.read_text())
    return found


def drive(way: Way, attacks: list[Attack]) -> Answers:
    cases = [
        {
            "key": key(attack),
            "kind": attack.kind,
            "source": attack.source,
            "item": attack.item,
            "sample": attack.sample,
            "endless": attack.is_endless,
        }
        for attack in attacks
    ]
    home = home_of(way.user)
    settings = environment(home, FAIRMARK_SANDBOX=way.sandbox, FAIRMARK_SANDBOX_ISOLATION=way.level)
    settings["FAIRMARK_PYTHON_TIMEOUT_S"] = "10"  # to fill memory takes a busy machine longer than others need
    try:
        done = run_as(way.user, [sys.executable, str(DRIVER)], json.dumps(cases), settings)
    finally:
        shutil.rmtree(home)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        **{line.pop("key"): line for line in lines[:-1]},
        "left": lines[-1]["left"],
        "stderr": {"text": done.stderr},
    }


# As most servers run; the other ways are for `make test-all`.
USUAL = Way("bubblewrap", "per_grader", "ordinary")
_more = [pytest.param(way, marks=pytest.mark.thorough) for way in WAYS if way != USUAL]
ways = pytest.mark.parametrize("answers", [USUAL, *_more], ids=str, indirect=True)
unprotected = pytest.mark.parametrize(
    "answers", [pytest.param(UNPROTECTED, marks=pytest.mark.thorough)], ids=str, indirect=True
)


@ways
@pytest.mark.parametrize("attack", HERE, ids=key)
def test_the_attack_has_exactly_the_outcome_the_sandbox_promises(attack: Attack, answers: Answers) -> None:
    answer, expected = answers[key(attack)], attack.expected
    assert "crashed" not in answer, answer["crashed"]
    assert answer.get("invalid", False) == expected.invalid, answer
    if not expected.invalid:
        assert (answer["reward"], answer["flags"]) == (expected.reward, expected.flags), answer["error"]
        assert answer["printed"] <= 65_536
    assert expected.details in (answer["error"] or "")
    assert len(answer["error"] or "") <= 4000


@ways
def test_nothing_is_left_when_the_service_ends(answers: Answers) -> None:
    assert answers["left"] == NOTHING_LEFT


@ways
def test_the_service_has_nothing_to_complain_about(answers: Answers) -> None:
    assert answers["stderr"] == {"text": ""}


@unprotected
@pytest.mark.parametrize("attack", [attack for attack in HERE if attack.harmless], ids=key)
def test_the_same_attack_succeeds_without_the_sandbox(attack: Attack, answers: Answers) -> None:
    assert (answers[key(attack)].get("reward"), answers[key(attack)].get("error")) == (1.0, None)


def test_attacks_have_different_names() -> None:
    assert [name for name, count in Counter(map(key, ATTACKS)).items() if count > 1] == []


def test_every_family_has_several_attacks() -> None:
    assert [family for family, count in FAMILIES.items() if count < 2] == []
