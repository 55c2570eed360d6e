"""Jobs on the page: their list, and one of them with its curves while it is trained."""

import json
import re
from typing import Any

from playwright.sync_api import expect

from fairmark.parse import parse
from fairmark.training.recorder import StepTally, metrics
from tests.server.client import Server
from tests.server.test_finetuning import JOBS, body, created, ended
from tests.web.browser import HOSTILE, Scheme, Width, check_look
from tests.web.conftest import Open, Start, in_both_looks
from tests.web.reading import read
from tests.web.visiting import Visitor

TAKE = "/v1/fine_tuning/workers/take"
EXACT = {"type": "string_check", "name": "exact", "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}"}
BOTH = {
    "type": "multi",
    "name": "exact and short",
    "graders": {
        "e": {**EXACT, "operation": "eq"},
        "s": {"type": "python", "name": "short", "source": "def grade(sample, item):\n    return 0.5\n"},
    },
    "calculate_output": "0.8 * e + 0.2 * s",
}


def tally(reward: float, failed: int) -> StepTally:
    made = StepTally()
    made.rows, made.graded = 32, 32 - failed
    made.rewards = reward * made.graded
    made.parts.update({"e": reward * made.graded, "s": 0.5 * made.graded})
    made.reasons.update({f"ValueError: {HOSTILE}": failed} if failed else {})
    made.add_tokens([40] * 32)
    return made


def step(number: int, total: int = 40) -> dict[str, Any]:
    valid = tally(number / total * 0.8, 0) if number % 10 == 0 else None
    train = tally(number / total, number % 3)
    seconds = {"sampling": 2.0 + number % 4, "training": 1.5, "eval": 3.0 if valid else None, "full_iteration": 6.0}
    data = metrics(parse(BOTH), number, total, {"train": train, "valid": valid}, seconds, {"loss": 0.1})
    return {"key": f"s{number}", "message": f"Step {number}: training mean reward={number / total:g}", "data": data}


class Trained:
    """A job that a worker has."""

    def __init__(self, server: Server, **more: Any) -> None:
        self.server = server
        worker = {"worker": "w", "models": ["some/model"]}
        server.post(TAKE, worker)
        self.job = ended(server, created(server, body(server, grader=BOTH, **more)))
        taken = server.post(TAKE, worker).json()
        assert taken["job"]["id"] == self.job["id"]
        self.lease = taken["lease"]

    def tell(self, **told: Any) -> None:
        answer = self.server.post(f"{JOBS}/{self.job['id']}/progress", {"lease": self.lease, **told})
        assert answer.status == 200, answer.body


@in_both_looks  # the curves are drawn for the width
def test_jobs_are_listed_and_followed_to_their_end(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    server = start()
    window = open_window(server, scheme, width)
    page = window.page
    nothing = read(server, "/jobs")
    assert nothing.by_text("No jobs yet").one.seen
    assert nothing.by_text("No worker has asked for jobs lately").one.seen
    trained = Trained(server, suffix=HOSTILE[:60])
    trained.tell(status="running", events=[step(number) for number in range(1, 31)])
    checkpoint = {"model": "ft:some/model::1:ckpt-step-20", "step": 20}
    trained.tell(checkpoints=[checkpoint], events=[{"key": "w", "level": "warn", "message": f"Look: {HOSTILE}"}])
    main = read(server, "/evals").by_role("navigation", "Main").one
    page.goto(main.by_role("link", "Jobs").one.attributes["href"])
    expect(page.locator(".jobs__workers")).to_contain_text("some/model")
    expect(page.get_by_text("Training", exact=True)).to_be_visible()
    check_look(window, "jobs")
    page.get_by_role("link", name="some/model").click()
    reward = page.locator('[data-curves="reward"]')
    expect(reward.get_by_role("button")).to_have_count(6)
    expect(reward.get_by_role("button", name=re.compile("^Training"))).to_contain_text("0.75")
    expect(reward.get_by_role("button", name=re.compile("^Validation"))).to_contain_text("0.6")
    expect(reward.locator("canvas")).to_be_visible()
    expect(page.locator('[data-curves="errors"] canvas')).to_be_visible()
    expect(page.locator('[data-curves="time"]').get_by_role("button")).to_have_count(4)
    expect(page.get_by_role("region", name="Steps, the newest first").get_by_role("row")).to_have_count(9)
    expect(page.get_by_text("ft:some/model::1:ckpt-step-20")).to_be_visible()
    check_look(window, "job")
    part = reward.get_by_role("button", name=re.compile("^short, validation"))
    part.click()
    expect(part).to_have_attribute("aria-pressed", "false")
    # What happens meanwhile is shown without a word of the user's.
    trained.tell(events=[step(number) for number in range(31, 41)])
    expect(reward.get_by_role("button", name=re.compile("^Training"))).to_contain_text("1")
    expect(page.get_by_role("cell", name="40 of 40")).to_be_visible()
    trained.tell(status="succeeded", fine_tuned_model="ft:some/model::1", trained_tokens=12345)
    expect(page.get_by_text("Succeeded")).to_be_visible()
    expect(page.get_by_text("The trained model is")).to_contain_text("ft:some/model::1")
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)


def test_a_job_is_paused_resumed_and_cancelled(start: Start) -> None:
    server = start()
    trained = Trained(server)
    visitor = Visitor(server)
    page = visitor.go(f"/jobs/{trained.job['id']}")
    assert page.by_text("Waiting for a worker").one.seen
    assert "There is no step with numbers yet." in page.css('[data-curves="time"]').one.text
    page = visitor.press(page.by_role("button", "Pause").one)
    assert page.by_text("Paused", exact=True).one.seen
    page = visitor.press(page.by_role("button", "Resume").one)
    assert page.by_text("Waiting for a worker").one.seen
    asked = page.css(f'dialog[id="{page.by_role("button", "Cancel", exact=True).one.attributes["data-open"]}"]').one
    page = visitor.press(asked.by_text("Cancel the job").one)
    assert page.by_text("Cancelled", exact=True).one.seen
    assert server.get(f"{JOBS}/{trained.job['id']}").json()["status"] == "cancelled"


def test_a_job_without_a_trainer_says_what_to_do(start: Start) -> None:
    server = start()
    job = ended(server, created(server, body(server)))
    assert read(server, f"/jobs/{job['id']}").by_text("start fairmark train worker")[0].seen
    assert server.get("/jobs/ftjob-none").status == 404
    assert json.loads(server.get(f"/jobs/{job['id']}/curves.json").body)["points"][0]["step"] == 0
