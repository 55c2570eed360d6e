"""The reward server: Adaptive's contract and OpenRLHF's, a key, and bounds. A real process on loopback."""

import asyncio
import json
import math
import os
import socket
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

import fairmark
from fairmark.errors import InvalidData
from fairmark.parse import parse
from fairmark.rewardserver import answers
from fairmark.rewardserver.answers import Served
from fairmark.rewardserver.app import by_path
from fairmark.rewardserver.wire import RemoteReward, rows_of
from tests import command

EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.expected }}",
    "operation": "eq",
}
LAST_QUESTION = {
    "type": "function",
    "name": "asked",
    "source": "async def grade(thread: StringThread) -> float:\n"
    "    print([tuple(turn) for turn in thread.get_turns()], thread.metadata)\n"
    "    return 1.0\n",
}
PARTS = {
    "type": "multi",
    "name": "parts",
    "graders": {"exact": EXACT, "fuzzy": {"type": "text_similarity", "input": "{{ sample.output_text }}",
                                          "reference": "{{ item.label }}", "evaluation_metric": "fuzzy_match"}},
    "calculate_output": "fuzzy + 0 * exact",
}  # fmt: skip
KEY = "a-key-for-tests"


class Answer(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]


def ask(url: str, body: Any = None, headers: dict[str, str] | None = None, method: str | None = None) -> Answer:
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers or {}, method=method)  # noqa: S310  # our own server's
    try:
        with urllib.request.urlopen(request, timeout=60) as found:  # noqa: S310
            return Answer(found.status, json.loads(found.read()), dict(found.headers))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, json.loads(error.read()), dict(error.headers))


@contextmanager
def serving(folder: Path, *graders: dict[str, Any], **environment: str) -> Iterator[str]:
    files = []
    for number, grader in enumerate(graders):
        files.append(folder / f"{number}.json")
        files[-1].write_text(json.dumps(grader))
    with tempfile.TemporaryFile("w+") as complaint:
        process = command.start(
            ["reward-server", "--port", "0", *(word for file in files for word in ("--grader", str(file)))],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "FAIRMARK_HOME": str(folder), **environment},
            stderr=complaint,
        )
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()
            code = process.wait(60)
            process.stdout.close()
        complaint.seek(0)
        unexpected = [line for line in complaint if "rows were not graded" not in line]
        assert (code, unexpected) == (0, [])


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("one"), EXACT) as url:
        yield url


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("several"), EXACT, LAST_QUESTION, PARTS, FAIRMARK_MAX_BODY_MB="1") as url:
        yield url


def thread(answer: str, **metadata: Any) -> dict[str, Any]:
    turns = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": answer}]
    return {"turns": turns, "metadata": metadata}


# Adaptive's contract.


def test_info_tells_name_version_and_description_as_texts(url: str) -> None:
    assert ask(f"{url}/info").body == {
        "version": fairmark.__version__,
        "name": "exact",
        "description": "string_check: Compare two texts; the reward is 1 or 0.",
    }


def test_the_schema_of_the_metadata_takes_any_object(url: str) -> None:
    assert ask(f"{url}/metadata_schema").body["type"] == "object"


def test_a_score_has_exactly_the_fields_of_the_contract(url: str) -> None:
    answer = ask(f"{url}/score", {**thread("4", expected="4"), "id": 7})
    assert answer == (200, {"reward": 1.0, "metadata": {"status": "graded", "passed": True}, "id": 7}, answer.headers)


def test_a_batch_is_answered_in_its_order(url: str) -> None:
    requests = [thread("4", expected="4"), thread("5", expected="4"), thread("6", expected="6")]
    answer = ask(f"{url}/batch_score", {"requests": requests})
    assert [response["reward"] for response in answer.body["responses"]] == [1.0, 0.0, 1.0]
    assert ask(f"{url}/batch_score", {"requests": []}).body == {"responses": []}


def test_a_row_that_cannot_be_graded_has_reward_0_and_says_why(url: str) -> None:
    answer = ask(f"{url}/batch_score", {"requests": [thread("4"), thread("4", expected="4")]})
    first, second = answer.body["responses"]
    assert (answer.status, first["reward"], second["reward"]) == (200, 0.0, 1.0)
    assert first["metadata"]["status"] == "error"
    assert 'this item has no field "expected"' in first["metadata"]["error"]
    assert first["metadata"]["reason"] == first["metadata"]["error"]


def test_metadata_may_be_null_but_must_be_there(url: str) -> None:
    assert ask(f"{url}/score", {"turns": [], "metadata": None}).status == 200
    answer = ask(f"{url}/score", {"turns": []})
    assert (answer.status, answer.body["detail"][0]["msg"]) == (422, "Object missing required field `metadata`")


@pytest.mark.parametrize(
    ("path", "body", "where", "kind"),
    [
        ("score", {**thread("x"), "more": 1}, ["body"], "extra_forbidden"),
        ("score", {"turns": [{"role": "user", "content": "x", "name": "y"}], "metadata": {}}, ["body", "turns", 0],
         "extra_forbidden"),
        ("batch_score", {"requests": [thread("x"), {**thread("x"), "more": 1}]}, ["body", "requests", 1],
         "extra_forbidden"),
        ("batch_score", {"requests": [], "more": 1}, ["body"], "extra_forbidden"),
        ("batch_score", {"requests": [thread("x"), {"turns": 5, "metadata": {}}]}, ["body", "requests", 1, "turns"],
         "value_error"),
        ("score", {**thread("x"), "id": "seven"}, ["body", "id"], "value_error"),
        ("score", [], ["body"], "value_error"),
        ("score", b"{", ["body"], "json_invalid"),
        ("score", b"", ["body"], "json_invalid"),
        ("get_reward", {"prompts": ["a"]}, ["body"], "value_error"),
        ("get_reward", {"query": ["a", "b"], "prompts": ["a"]}, ["body", "prompts"], "value_error"),
        ("get_reward", {"query": ["a"], "labels": []}, ["body", "labels"], "value_error"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_its_place(
    url: str, path: str, body: Any, where: list[Any], kind: str
) -> None:
    answer = ask(f"{url}/{path}", body)
    (detail,) = answer.body["detail"]
    assert (answer.status, detail["loc"], detail["type"]) == (422, where, kind)
    assert detail["msg"]


def test_half_an_emoji_is_scored(url: str) -> None:
    body = b'{"turns": [{"role": "assistant", "content": "\\ud83d"}], "metadata": {"expected": "x"}}'
    assert ask(f"{url}/score", body).body["reward"] == 0.0


def test_a_body_nested_without_end_is_refused(url: str) -> None:
    body = b'{"turns": [], "metadata": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    assert ask(f"{url}/score", body).status == 422


def test_the_conversation_reaches_a_function_grader_as_it_was(several: str) -> None:
    turns = [("system", "s"), ("user", "u"), ("assistant", "a")]
    body = {"turns": [{"role": role, "content": text} for role, text in turns], "metadata": {"k": 1}}
    answer = ask(f"{several}/asked/score", body)
    assert answer.body["metadata"]["printed"] == f"{turns} {{'k': 1}}\n"


def test_a_conversation_that_ends_with_the_user_has_no_sample(several: str) -> None:
    turns = [("user", "u"), ("assistant", "a"), ("user", "v")]
    body = {"turns": [{"role": role, "content": text} for role, text in turns], "metadata": {"expected": "a"}}
    assert ask(f"{several}/asked/score", body).body["metadata"]["printed"].startswith(f"{turns} ")
    assert ask(f"{several}/exact/score", body).body["reward"] == 0.0


def test_several_graders_answer_each_at_its_own_path(several: str) -> None:
    assert ask(f"{several}/exact/info").body["name"] == "exact"
    assert ask(f"{several}/info").body["description"] == "Graders at their own paths: /exact, /asked, /parts."
    answer = ask(f"{several}/score", thread("x"))
    assert answer.status == 404
    assert answer.body["detail"] == "Not Found. There are: /exact/score, /asked/score, /parts/score."


def test_graders_that_would_share_a_path_are_refused() -> None:
    with pytest.raises(InvalidData, match="its path would be /a-b, and another grader has it"):
        by_path([parse({**EXACT, "name": "a b"}), parse({**EXACT, "name": "a/b"})])
    with pytest.raises(InvalidData, match="its path would be /score, and the server needs it itself"):
        by_path([parse({**EXACT, "name": "score"})])
    with pytest.raises(InvalidData, match="a custom grader cannot be asked to grade"):
        by_path([parse({"type": "custom"})])


# OpenRLHF's contract.


def test_openrlhf_gets_numbers_in_the_lists_that_it_reads(url: str) -> None:
    body = {"query": ["2+2?4", "2+2?5"], "prompts": ["2+2?", "2+2?"], "labels": [{"expected": "4"}, {"expected": "4"}]}
    assert ask(f"{url}/get_reward", body).body == {
        "rewards": [1.0, 0.0],
        "scores": [1.0, 0.0],
        "extra_logs": {"fairmark/error": [0.0, 0.0]},
    }


def test_openrlhf_sees_parts_and_failures_in_its_logs(several: str) -> None:
    body = {"query": ["Q: Paris</s>"], "prompts": ["Q: "], "labels": ["Paris"]}
    assert ask(f"{several}/parts/get_reward", body).body == {
        "rewards": [0.0],
        "scores": [0.0],
        "extra_logs": {"fairmark/error": [1.0], "fairmark/exact": [0.0], "fairmark/fuzzy": [1.0]},
    }


@pytest.mark.parametrize(
    ("query", "prompt", "sample"),
    [
        ("<|im_start|>user\nhi<|im_end|>\nHello<|im_end|>", "<|im_start|>user\nhi<|im_end|>\n", "Hello"),
        ("hi Hello</s></s>", "hi ", "Hello"),
        ("hi Hello<｜end▁of▁sentence｜>", "hi ", "Hello"),
        ("hi Hello <end_of_turn>\n<eos>", "hi ", "Hello"),
        ("something else", "hi ", "something else"),
        ("hi a <b> | c", "hi ", "a <b> | c"),
        ("hi <|im_end|> said", "hi ", "<|im_end|> said"),
    ],
)
def test_the_sample_is_the_query_without_prompt_and_end_marks(query: str, prompt: str, sample: str) -> None:
    (row,) = rows_of(RemoteReward([query], [prompt], ["x"]))
    assert row == {"item": {"query": query, "prompt": prompt, "label": "x"}, "sample": sample}


def test_a_failed_row_is_masked_by_its_score_where_the_address_says_so(several: str) -> None:
    """NaN is no JSON, and what Python's reader, which OpenRLHF's client uses, takes."""
    body = {"query": ["Q: Paris", "Q: Paris"], "prompts": ["Q: "] * 2, "labels": ["Paris", {"expected": "Paris"}]}
    answer = ask(f"{several}/parts/get_reward?on_error=mask", body).body
    assert math.isnan(answer["scores"][0])
    assert answer["rewards"][0] == 0.0
    assert answer["extra_logs"]["fairmark/error"][0] == 1.0
    assert ask(f"{several}/parts/get_reward?on_error=zero", body).body["scores"][0] == 0.0
    wrong = ask(f"{several}/parts/get_reward?on_error=drop", body)
    assert (wrong.status, wrong.body) == (422, {"detail": 'on_error: found "drop". Use: zero, mask.'})


@pytest.mark.parametrize(
    ("label", "item"),
    [
        ('{"expected": "4"}', {"expected": "4", "label": {"expected": "4"}}),
        ("{4}", {"label": "{4}"}),
        ("[4]", {"label": "[4]"}),
        ("4", {"label": "4"}),
    ],
)
def test_a_label_that_is_the_text_of_an_object_is_read_as_one(label: str, item: dict[str, Any]) -> None:
    (row,) = rows_of(RemoteReward(["2+2?4"], ["2+2?"], [label]))
    assert row["item"] == {"query": "2+2?4", "prompt": "2+2?", **item}


def test_rows_that_come_one_by_one_and_together_are_graded_alike(url: str) -> None:
    with ThreadPoolExecutor(16) as pool:
        bodies = [{"query": [str(n % 3)], "prompts": [""], "labels": [{"expected": "1"}]} for n in range(48)]
        answers = list(pool.map(lambda body: ask(f"{url}/get_reward", body).body["rewards"], bodies))
    assert answers == [[float(n % 3 == 1)] for n in range(48)]


# LLaMA-Factory's contract.


def test_llama_factory_gets_a_score_for_each_text(tmp_path: Path) -> None:
    said = {**EXACT, "reference": "4", "name": "said"}
    with serving(tmp_path, said) as url:
        texts = [
            "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n4<|im_end|>\n",
            "[INST] 2+2? [/INST] 5</s>",
            "4",
        ]
        assert ask(f"{url}/scores", {"model": "model", "messages": texts}).body == {"scores": [1.0, 0.0, 1.0]}
        assert ask(f"{url}/scores", {"messages": [1]}).status == 422


# Doors and bounds.


def test_health_says_ok(url: str) -> None:
    assert ask(f"{url}/health").body == {"status": "ok"}


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [("/nothing", "GET", 404), ("/a/b/score", "POST", 404), ("/score", "GET", 405), ("/info", "POST", 405)],
)
def test_unknown_doors_are_told(url: str, path: str, method: str, status: int) -> None:
    assert ask(url + path, b"{}" if method == "POST" else None, method=method).status == status


def test_a_body_that_is_too_long_is_refused_before_it_is_sent(several: str) -> None:
    parts = urlsplit(several)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.sendall(b"POST /exact/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000001\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answer.startswith(b"HTTP/1.1 413")
    assert answer.endswith(b'{"detail":"The body is longer than 1 MB."}')


def test_a_body_of_unknown_length_is_refused_once_it_is_too_long(several: str) -> None:
    parts = urlsplit(several)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.sendall(b"POST /exact/score HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"%x\r\n%b\r\n" % (100_000, b" " * 100_000)
        for _ in range(10):
            connection.sendall(chunk)
        connection.sendall(b"1\r\n \r\n")  # one byte too many
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")


def test_a_server_without_a_key_answers_no_foreign_page(url: str) -> None:
    assert ask(f"{url}/info", headers={"Host": "evil.example"}).status == 403
    assert ask(f"{url}/score", thread("4"), {"Origin": "https://evil.example"}).status == 403


def test_a_server_with_a_key_wants_it(tmp_path: Path) -> None:
    with serving(tmp_path, EXACT, FAIRMARK_REWARD_KEY=KEY) as url:
        assert ask(f"{url}/health").status == 200
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {KEY}"}):
            answer = ask(f"{url}/score", thread("4", expected="4"), headers)
            assert answer.status == 401
            assert KEY not in json.dumps(answer.body)
        right = {"Authorization": f"Bearer {KEY}", "Host": "rewards.example"}
        assert ask(f"{url}/score", thread("4", expected="4"), right).body["reward"] == 1.0
        # What OpenRLHF can send: an address and nothing else.
        body = {"query": ["4"], "labels": [{"expected": "4"}]}
        assert ask(f"{url}/get_reward?key={KEY}", body).body["rewards"] == [1.0]
        assert ask(f"{url}/get_reward?key=wrong", body).status == 401


def bearer(key: str, forwarded_for: str | None = None) -> dict[str, str]:
    said = {} if forwarded_for is None else {"X-Forwarded-For": forwarded_for}
    return {"Authorization": f"Bearer {key}", **said}


def test_who_tries_keys_has_to_wait_but_for_the_one_that_was_right(tmp_path: Path) -> None:
    with serving(tmp_path, EXACT, FAIRMARK_REWARD_KEY=KEY) as url:
        assert ask(f"{url}/info", headers=bearer(KEY)).status == 200
        tried = [ask(f"{url}/info", headers=bearer(f"wrong {number}")) for number in range(8)]
        assert [answer.status for answer in tried] == [401] * 5 + [429] * 3
        assert tried[-1].body["detail"].startswith("Too many wrong keys came from your address. Try again in ")
        assert 1 <= int(tried[-1].headers["retry-after"]) <= 5
        assert ask(f"{url}/get_reward?key=other", {}).status == 429  # this way too
        assert ask(f"{url}/info", headers=bearer(KEY, "203.0.113.7")).status == 200
        # Without the setting nobody is believed: all of these come from one address.
        assert ask(f"{url}/info", headers=bearer("wrong too", "203.0.113.7")).status == 429


def test_clients_behind_a_trusted_proxy_wait_each_for_themselves(tmp_path: Path) -> None:
    with serving(tmp_path, EXACT, FAIRMARK_REWARD_KEY=KEY, FAIRMARK_TRUSTED_PROXIES="127.0.0.1") as url:
        for number in range(6):
            last = ask(f"{url}/info", headers=bearer(f"wrong {number}", "203.0.113.7"))
        assert last.status == 429
        assert ask(f"{url}/info", headers=bearer(KEY, "203.0.113.8")).status == 200
        assert ask(f"{url}/info", headers=bearer(KEY, "203.0.113.7")).status == 429


def test_who_came_from_elsewhere_by_a_proxy_is_not_on_this_machine(tmp_path: Path) -> None:
    with serving(tmp_path, EXACT, FAIRMARK_TRUSTED_PROXIES="127.0.0.1") as url:
        assert ask(f"{url}/info", headers={"X-Forwarded-Host": "rewards.example"}).status == 403
        here = {"X-Forwarded-Host": "localhost:8443", "X-Forwarded-Proto": "https", "Origin": "https://localhost:8443"}
        assert ask(f"{url}/info", headers=here).status == 200
        assert ask(f"{url}/info", headers={**here, "Origin": "https://elsewhere.example"}).status == 403


def test_our_own_endpoint_grader_scores_by_it(tmp_path: Path) -> None:
    with serving(tmp_path, EXACT, FAIRMARK_REWARD_KEY=KEY) as url:
        grader = {"type": "endpoint", "url": url, "headers": {"Authorization": "Bearer ${FAIRMARK_SECRET_REWARDS}"}}
        program = (
            "import fairmark, json, sys\n"
            "rows = [{'item': {'metadata': {'expected': '4'}}, 'sample': text} for text in ('4', '5')]\n"
            "rows.append({'item': {'metadata': {}}, 'sample': '4'})\n"
            "for result in fairmark.grade_many(json.loads(sys.argv[1]), rows):\n"
            "    print(result.reward, result.status, result.error)\n"
        )
        allowed = {"FAIRMARK_ENDPOINT_ALLOW": urlsplit(url).netloc, "FAIRMARK_SECRET_REWARDS": KEY}
        done = command.python(program, json.dumps(grader), env={**os.environ, **allowed})
        assert (done.returncode, done.stderr) == (0, "")
    right, wrong, failed = done.stdout.splitlines()
    assert (right, wrong) == ("1.0 graded None", "0.0 graded None")
    assert failed.startswith("0.0 error the endpoint could not score this: {{ item.expected }}")


def test_a_batch_of_which_one_row_never_ends_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some trainers have no timeout of their own."""
    monkeypatch.setattr(answers, "BATCH_DEADLINE_S", 2.0)
    source = "def grade(sample, item):\n    while item['loops']:\n        pass\n    return 1.0\n"
    served = Served(parse({"type": "python", "name": "code", "source": source}))
    rows = [{"item": {"loops": loops}, "sample": ""} for loops in (False, True, False)]
    results = asyncio.run(served.grade(rows))
    assert [result.status for result in results] == ["graded", "error", "graded"]
    assert "the deadline of the whole call has passed" in str(results[1].error)
