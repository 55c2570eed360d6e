"""From a grader to a server and back, over real HTTP: settings by the environment, as users have them."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fairmark.judges.client import JudgeClient, Tab
from fairmark.judges.models import Model, Provider
from fairmark.settings import Settings
from tests import command
from tests.judges.scripted import chat_reply


class Server:
    """Answers every question with 0.75 and writes down what came, and on which connection."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.most = self._inside = 0
        self.held: asyncio.Event | None = None
        self.loop = asyncio.new_event_loop()
        self._runner: web.AppRunner | None = None
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.url = asyncio.run_coroutine_threadsafe(self._start(), self.loop).result()

    async def _start(self) -> str:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def _answer(self, request: web.Request) -> web.Response:
        assert request.transport
        self.requests.append((request.transport.get_extra_info("peername")[1], await request.json()))
        self.headers.append(dict(request.headers))
        self._inside += 1
        self.most = max(self.most, self._inside)
        if self.held is not None:
            await self.held.wait()
        await asyncio.sleep(0.005)
        self._inside -= 1
        return web.json_response(chat_reply(0.75))

    @property
    def connections(self) -> int:
        return len({port for port, _ in self.requests})

    def stop(self) -> None:
        assert self._runner
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


def run(server: Server, home: Path, code: str, cold: bool = False, **environment: str) -> list[Any]:
    """What a user's script printed, a JSON value a line. Warnings are errors there, and stderr stays empty.

    A `cold` one also takes its modules apart at its end, and tells of what was left open.
    """
    begin = """
        import asyncio, json, os, sys, threading, warnings
        warnings.simplefilter("error")
        import fairmark
        GRADER = {
            "type": "score_model",
            "name": "quality",
            "model": "gpt-4o-mini",
            "input": [{"role": "user", "content": "Rate: {{ sample.output_text }}"}],
        }
        def show(value):
            print(json.dumps(value), flush=True)
    """
    script = textwrap.dedent(begin) + textwrap.dedent(code)
    env = {
        "PATH": os.environ["PATH"],
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "sk-test",
        "FAIRMARK_HOME": str(home / "home"),
        "FAIRMARK_JUDGE_CACHE": "off",
        **environment,
    }
    if cold:
        words = [sys.executable, "-W", "error", "-c", script]
        done = subprocess.run(words, capture_output=True, text=True, cwd=home, timeout=120, env=env, check=False)
    else:
        done = command.python(script, cwd=home, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_grade_goes_to_the_server_and_comes_back(server: Server, tmp_path: Path) -> None:
    (result,) = run(server, tmp_path, 'show(fairmark.grade(GRADER, "Paris").model_dump())', cold=True)
    assert (result["reward"], result["status"], result["passed"]) == (0.75, "graded", True)
    assert result["metadata"]["sampled_model_name"] == "m-2026"
    assert result["metadata"]["token_usage"]["total_tokens"] == 120
    ((_, body),) = server.requests
    assert (body["model"], body["messages"][-1]["content"]) == ("gpt-4o-mini", "Rate: Paris")
    assert server.headers[0]["Authorization"] == "Bearer sk-test"


def test_every_loop_and_every_synchronous_call_uses_one_connection(server: Server, tmp_path: Path) -> None:
    code = """
        rewards = []
        for number in range(5):
            rewards.append(asyncio.run(fairmark.agrade(GRADER, f"loop {number}")).reward)
            rewards.append(fairmark.grade(GRADER, f"call {number}").reward)

        async def inside():
            return fairmark.grade(GRADER, "synchronous, inside a loop").reward

        rewards.append(asyncio.run(inside()))
        thread = threading.Thread(target=lambda: rewards.append(fairmark.grade(GRADER, "in a thread").reward))
        thread.start()
        thread.join()
        show(rewards)
    """
    assert run(server, tmp_path, code) == [[0.75] * 12]
    assert len(server.requests) == 12
    assert server.connections == 1


def test_a_forked_child_asks_by_connections_of_its_own(server: Server, tmp_path: Path) -> None:
    code = """
        show(fairmark.grade(GRADER, "before").reward)
        child = os.fork()
        who = "parent" if child else "child"
        reward = fairmark.grade(GRADER, who).reward
        if child:
            assert os.waitpid(child, 0)[1] == 0
        show([who, reward, asyncio.run(fairmark.agrade(GRADER, f"again {who}")).reward])
    """
    shown = run(server, tmp_path, code, cold=True)
    assert shown[0] == 0.75
    assert sorted(shown[1:]) == [["child", 0.75, 0.75], ["parent", 0.75, 0.75]]
    by_text = {body["messages"][-1]["content"]: port for port, body in server.requests}
    assert len(by_text) == 5
    assert by_text["Rate: before"] == by_text["Rate: parent"] == by_text["Rate: again parent"]
    assert by_text["Rate: child"] == by_text["Rate: again child"] != by_text["Rate: parent"]


def test_hundreds_of_rows_keep_to_the_concurrency_and_reuse_its_connections(server: Server, tmp_path: Path) -> None:
    code = """
        results = fairmark.grade_many(GRADER, [{"sample": str(number)} for number in range(400)])
        show([sum(result.reward == 0.75 for result in results), [result.error for result in results if result.error]])
    """
    assert run(server, tmp_path, code, FAIRMARK_JUDGE_CONCURRENCY="8") == [[400, []]]
    assert server.most == 8
    assert server.connections == 8


def test_the_budget_counts_at_the_door_and_not_in_the_queue(server: Server, tmp_path: Path) -> None:
    """All rows wait for their turn at once; those that were let in before the budget was spent are all that go."""
    code = """
        budget = fairmark.Budget(tokens=1200)
        rows = [{"sample": str(number)} for number in range(500)]
        results = fairmark.grade_many(GRADER, rows, budget=budget)
        statuses = [result.status for result in results]
        show([statuses.count("graded"), statuses.count("skipped"), budget.spent_tokens])
    """
    ((graded, skipped, spent),) = run(server, tmp_path, code, FAIRMARK_JUDGE_CONCURRENCY="4")
    assert 10 <= graded <= 10 + 3  # ten are within the budget, and three may be under way when the tenth comes back
    assert (graded + skipped, spent) == (500, 120 * graded)
    assert len(server.requests) == graded


def test_wrong_settings_are_told_on_every_row_and_nothing_is_asked(server: Server, tmp_path: Path) -> None:
    (tmp_path / "fairmark.toml").write_text("[models]\nm = 5\n")
    code = """
        results = fairmark.grade_many(GRADER, [{"sample": "a"}, {"sample": "b"}])
        show([[result.status, result.error] for result in results])
    """
    error = "fairmark.toml: models.m: found a number (5). It takes a table."
    assert run(server, tmp_path, code) == [[["error", error]] * 2]
    assert server.requests == []


def test_a_question_that_is_cancelled_in_any_queue_gives_all_its_places_back(server: Server) -> None:
    async def never(name: str) -> Provider:
        raise AssertionError(name)

    async def scenario() -> None:
        client = JudgeClient(Settings(judge_concurrency=2), never)
        provider = Provider("house", server.url)
        first, second = (Model(name, provider, name) for name in ("first", "second"))
        server.held = asyncio.Event()
        # Two fill the client; the others have a place at their model's gate and wait for one at the client's.
        tasks = [asyncio.create_task(client.post(first, "chat/completions", {}, Tab())) for _ in range(2)]
        tasks += [asyncio.create_task(client.post(second, "chat/completions", {}, Tab())) for _ in range(2)]
        while len(server.requests) < 2:
            await asyncio.sleep(0.005)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        server.loop.call_soon_threadsafe(server.held.set)
        for model in (first, second):
            posts = (client.post(model, "chat/completions", {}, Tab()) for _ in range(4))
            assert len(await asyncio.wait_for(asyncio.gather(*posts), 30)) == 4
        await client.close()

    asyncio.run(scenario())
