"""Several processes behind one port: they are one server, whichever of them answers, dies or is asked to stop."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import command
from tests.completions.provider import Provider
from tests.evals.house import House, Models, open_house
from tests.judges.faults import Request, Wire
from tests.postgres import Postgres
from tests.server.client import EXACT, RUN, Answer, Server, run_body, wait_for
from tests.store.conftest import MIGRATED, postgres

__all__ = ["postgres"]

CONFIG = {"type": "custom", "item_schema": {}, "include_sample_schema": True}
JUDGE = {
    "type": "score_model",
    "name": "judged",
    "model": "judge",
    "input": [{"role": "user", "content": "{{item.answer}}"}],
    "pass_threshold": 0.5,
}
Start = Callable[..., "Together"]


def children(pid: int) -> list[int]:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return sorted(int(child) for task in tasks for child in (task / "children").read_text().split())
    return []


def is_alive(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


class Together(Server):
    """A server of several processes."""

    def __init__(self, home: Path, env: dict[str, str] | None = None, processes: int = 2) -> None:
        super().__init__(home, env, ["--processes", str(processes)])
        self.count = processes

    @property
    def pids(self) -> list[int]:
        return children(self.process.pid)

    @contextlib.contextmanager
    def through_each(self) -> Iterator[list["Through"]]:
        """A connection to each of the processes."""
        found: dict[int, Through] = {}
        spare: list[Through] = []
        try:
            while len(found) < self.count:
                assert len(spare) < 500
                connection = Through(self.port)
                number = connection.number()
                if number in found:
                    spare.append(connection)
                else:
                    found[number] = connection
            yield [found[number] for number in sorted(found)]
        finally:
            for connection in (*found.values(), *spare):
                connection.close()

    def new_eval(self, criterion: dict[str, Any]) -> str:
        """Where its runs are."""
        made = self.post("/v1/evals", {"data_source_config": CONFIG, "testing_criteria": [criterion]})
        return f"/v1/evals/{made.json()['id']}/runs"


class Through:
    """One connection that is kept, and so one process."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def request(self, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
        sent = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", **({} if key is None else {"api-key": key})}
        self._connection.request(method, path, sent, headers)
        answer = self._connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read())

    def number(self) -> int:
        """Of the process that answers."""
        process: int = self.request("GET", "/readyz").json()["process"]
        return process

    def close(self) -> None:
        self._connection.close()


def rows(answers: list[str]) -> dict[str, Any]:
    content = [{"item": {"answer": answer}, "sample": {"output_text": answer}} for answer in answers]
    return {"data_source": {"type": "jsonl", "source": {"type": "file_content", "content": content}}}


class Everyone:
    """The judge of the house, and a provider of all other models."""

    def __init__(self) -> None:
        self._judge, self._others = House(), Provider()

    async def play(self, wire: Wire, request: Request) -> None:
        await (self._judge if request.body["model"] == "judge" else self._others).play(wire, request)


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    with open_house() as made:
        made.always(Everyone())
        yield made


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Each process takes a second and a half of a core to start, so most tests share theirs."""
    started: list[Together] = []

    def start_one(**arguments: Any) -> Together:
        started.append(Together(tmp_path_factory.mktemp("together") / "home", **arguments))
        return started[-1]

    yield start_one
    for server in started:
        pids = server.pids
        server.stop()
        wait_for(lambda: not any(map(is_alive, pids)))  # noqa: B023  # called at once
        assert "Traceback" not in server.stderr.read_text()


@pytest.fixture(scope="module")
def lent(start: Start, models: Models) -> Iterator[Together]:
    """The same server until somebody has ended it. Its models answer."""

    def servers() -> Iterator[Together]:
        while True:
            server = start(env=models.environment, processes=3)
            while server.process.poll() is None:
                yield server

    return servers()


@pytest.fixture
def shared(lent: Iterator[Together]) -> Together:
    """Three processes."""
    return next(lent)


@pytest.fixture(scope="module")
def locked(start: Start) -> Together:
    """Two processes and a key: whoever has none is sent away."""
    server = start()
    env = {"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(server.home)}
    assert command.run(["keys", "create"], cwd=server.home, env=env).returncode == 0
    return server


def test_requests_are_answered_by_all_and_the_store_is_one(shared: Together) -> None:
    assert len(shared.pids) == 3
    file_id = shared.upload(b'{"item": {}}\n').json()["id"]
    with shared.through_each() as connections:
        for connection in connections:
            assert connection.request("GET", f"/v1/files/{file_id}").json()["bytes"] == 13
            assert connection.request("POST", RUN, run_body()).json()["reward"] == 1.0
        text = connections[1].request("GET", "/metrics").body.decode()
    for number in range(3):
        assert f'fairmark_requests_total{{route="{RUN}",status="200",process="{number}"}} 1\n' in text
    assert text.count("# TYPE fairmark_requests_total counter") == 1
    assert 'fairmark_runs{status="completed"} 0\n' in text


def test_what_was_stored_through_one_process_is_found_at_once_by_all(shared: Together) -> None:
    with shared.through_each() as connections:
        for number in range(20):
            asked = {"model": "m", "store": True, "messages": [{"role": "user", "content": "hi"}]}
            by, other = connections[number % 2], connections[1 - number % 2]
            made = by.request("POST", "/v1/chat/completions", {**asked, "metadata": {"number": str(number)}})
            assert other.request("GET", f"/v1/chat/completions/{made.json()['id']}").status == 200
            listed = by.request("GET", f"/v1/chat/completions?metadata[number]={number}").json()["data"]
            assert [one["id"] for one in listed] == [made.json()["id"]]


@pytest.mark.parametrize("by", [0, 1])
def test_a_run_begun_at_any_process_is_worked_off_and_told_by_all(shared: Together, by: int) -> None:
    where = shared.new_eval(EXACT)
    with shared.through_each() as connections:
        made = connections[by].request("POST", where, rows(["a", "b"]))
        assert made.status == 201
        path = f"{where}/{made.json()['id']}"
        for connection in connections:
            wait_for(lambda: connection.request("GET", path).json()["status"] == "completed")  # noqa: B023
            assert connection.request("GET", path).json()["result_counts"]["passed"] == 2


def test_a_run_is_cancelled_at_once_by_a_process_that_does_not_work_on_it(shared: Together, models: Models) -> None:
    where = shared.new_eval(JUDGE)
    with shared.through_each() as connections:
        made = connections[1].request("POST", where, rows(["HANG"] * 3))
        path = f"{where}/{made.json()['id']}"
        wait_for(lambda: any("HANG" in text for text in models.asked_of("judge")))
        assert connections[1].request("POST", path, {}).json()["status"] == "canceled"
        for connection in connections:
            assert connection.request("GET", path).json()["status"] == "canceled"


def test_a_grader_that_was_changed_at_one_process_counts_at_all_of_them_at_once(shared: Together) -> None:
    asked = {"grader": {"type": "registered", "key": "exact"}, "model_sample": "x", "item": {"answer": "x"}}
    assert shared.post("/v1/graders", {"key": "exact", "grader": EXACT}).status in (200, 201)
    with shared.through_each() as connections:
        for change in range(6):
            operation = ("ne", "eq")[change % 2]
            for connection in connections:
                connection.request("POST", RUN, asked)  # remembered everywhere
            changed = connections[change % 3].request(
                "PATCH", "/v1/graders/exact", {"grader": {**EXACT, "operation": operation}}
            )
            assert changed.status == 200, changed.body
            rewards = [connection.request("POST", RUN, asked).json()["reward"] for connection in connections]
            assert rewards == [float(operation == "eq")] * 3


def test_wrong_keys_are_counted_by_all_together(locked: Together) -> None:
    with locked.through_each() as connections:
        for connection in connections:
            wait_for(lambda: connection.request("GET", "/v1/files").status == 401)  # noqa: B023  # called at once
        for number in range(5):
            connections[number % 2].request("GET", "/v1/files", key=f"wrong-{number}")
        for connection in connections:
            wait_for(lambda: has_heard_of_all(connection, 2))  # noqa: B023
        for connection in connections:  # each has seen three of them at most
            assert connection.request("GET", "/v1/files", key="another").status == 429


def has_heard_of_all(connection: Through, count: int) -> bool:
    """Whether the others have answered the process: they have heard before then what it had told them."""
    text = connection.request("GET", "/metrics").body.decode()
    return all(f'process="{number}"' in text for number in range(count))


def test_a_port_or_a_file_that_another_server_has_is_refused(shared: Together, tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(tmp_path / "other")}
    taken = command.run(["serve", "--processes", "2", "--port", str(shared.port)], cwd=tmp_path, env=env)
    assert (taken.returncode, "address already in use" in taken.stderr) == (2, True)
    env["FAIRMARK_HOME"] = str(shared.home)
    for processes in ("1", "2"):
        second = command.run(["serve", "--processes", processes, "--port", "0"], cwd=tmp_path, env=env)
        assert (second.returncode, "another Fairmark server uses this database" in second.stderr) == (2, True)


@pytest.mark.parametrize("victim", [0, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_killed_process_is_begun_anew_and_nothing_acknowledged_is_lost(shared: Together, victim: int) -> None:
    server = shared
    before, ended_before = server.pids, len(_ends(server))
    where = server.new_eval(EXACT)
    acknowledged: list[str] = []

    def ask(number: int) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            made = server.post(where, rows([str(number)] * 5))
            assert made.status == 201
            acknowledged.append(f"{where}/{made.json()['id']}")

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(ask, number) for number in range(40)]
        wait_for(lambda: len(acknowledged) > 10)
        os.kill(before[victim], signal.SIGKILL)
        for task in asking:
            task.result()
    assert len(acknowledged) > 20
    wait_for(lambda: len(server.pids) == 3 and set(server.pids) != set(before))
    for path in acknowledged:
        wait_for(lambda: server.get(path).json()["status"] == "completed")  # noqa: B023
        assert server.get(path).json()["result_counts"]["passed"] == 5
    with server.through_each() as connections:
        assert [connection.request("GET", "/healthz").status for connection in connections] == [200, 200, 200]
    (told,) = _ends(server)[ended_before:]
    assert told["status"] == -signal.SIGKILL


def _ends(server: Server) -> list[dict[str, Any]]:
    return [line for line in server.log() if line["event"] == "a process of the server ended"]


def test_without_the_one_that_started_them_all_end_and_the_file_is_free_again(locked: Together) -> None:
    pids = locked.pids
    assert len(pids) == 2
    os.kill(locked.process.pid, signal.SIGKILL)
    wait_for(lambda: not any(map(is_alive, pids)))
    again = Server(locked.home)
    try:
        assert again.get("/healthz").status == 200
    finally:
        again.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)])
def test_a_signal_lets_requests_in_flight_finish_at_every_process(shared: Together, number: int) -> None:
    """And waits for no connection that sends nothing."""
    server = shared
    pids = server.pids
    slow = {"type": "python", "source": "import time\ndef grade(sample, item):\n    time.sleep(2)\n    return 0.5\n"}
    with contextlib.ExitStack() as stack:
        connections = stack.enter_context(server.through_each())
        threads = stack.enter_context(concurrent.futures.ThreadPoolExecutor(3))
        for _ in range(8):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        asked = [threads.submit(connection.request, "POST", RUN, run_body(slow)) for connection in connections]
        wait_for(lambda: server.get("/metrics").body.decode().count("fairmark_requests_in_flight{") == 3)
        wait_for(lambda: _in_flight(server) == 4)
        assert server.stop(number) == 0
        assert [task.result().json()["reward"] for task in asked] == [0.5] * 3
    assert not any(map(is_alive, pids))
    assert server.log()[-1]["event"] == "stopped"


def _completed(server: Server, path: str) -> bool:
    with contextlib.suppress(OSError):  # a connection to the one that was killed may be reset
        return bool(server.get(path).json()["status"] == "completed")
    return False


def _in_flight(server: Server) -> int:
    lines = server.get("/metrics").body.decode().splitlines()
    return sum(int(line.split()[-1]) for line in lines if line.startswith("fairmark_requests_in_flight{"))


def test_on_postgresql_the_others_go_on_with_the_run_of_one_that_was_killed(start: Start, postgres: Postgres) -> None:
    with open_house() as models:
        server = start(env={**models.environment, "FAIRMARK_DB": postgres.new_database(MIGRATED)})
        where = server.new_eval(JUDGE)
        paths = [f"{where}/{server.post(where, rows([f'row {n}'] * 3)).json()['id']}" for n in range(8)]
        before = server.pids
        os.kill(before[0], signal.SIGKILL)
        wait_for(lambda: len(server.pids) == 2 and server.pids != before)
        for path in paths:
            wait_for(lambda: _completed(server, path))  # noqa: B023  # called at once
            assert server.get(path).json()["result_counts"]["passed"] == 3
