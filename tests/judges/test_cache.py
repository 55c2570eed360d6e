"""The cache of judges' answers: real SQLite, and real processes that share it."""

import json
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.judges import cache as module
from fairmark.judges.cache import Cache, Mode, key_of

LARGE = 1_000_000_000


def keep(file: Path, answers: dict[bytes, Any], mode: Mode = "on", most_bytes: int = LARGE) -> None:
    cache = Cache(file, mode, most_bytes)
    cache.keep(answers)
    cache.close()


def found(file: Path, keys: list[bytes], mode: Mode = "on") -> dict[bytes, Any]:
    cache = Cache(file, mode, LARGE)
    try:
        return cache.find(keys)
    finally:
        cache.close()


def python(code: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(*processes: "subprocess.Popen[str]") -> list[str]:
    """What they printed. Each must end well, and say nothing on stderr."""
    try:
        told = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [(process.returncode, err) for process, (_, err) in zip(processes, told, strict=True)] == [(0, "")] * len(
        processes
    )
    return [out for out, _ in told]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "judgements.db"


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """The messages of our logger so far; the list grows."""
    messages: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    logger, handler = logging.getLogger("fairmark"), Collect()
    logger.addHandler(handler)
    yield messages
    logger.removeHandler(handler)


# Names


def test_a_name_depends_on_every_part_and_on_nothing_else() -> None:
    parts = ["chat", "openai m", [{"role": "user", "content": "a"}], {"seed": 1}, {"type": "object"}, 0]
    names = {key_of(*parts)}
    for index, other in enumerate(("embedding", "openai n", [{"role": "user", "content": "b"}], {}, {"type": "x"}, 1)):
        names.add(key_of(*parts[:index], other, *parts[index + 1 :]))
    assert len(names) == 7
    assert key_of("a", "b") != key_of("ab")
    assert key_of("half an emoji \ud83d") != key_of("half an emoji \ud83e")


# Keeping and finding


def test_what_was_kept_is_found_by_the_next_who_opens_the_file(file: Path) -> None:
    values = {key_of(index): ["model", "words ü \n", {"steps": [], "result": index / 7}, None] for index in range(1200)}
    keep(file, {**values, b"bytes": b"\x00\x01"})
    assert found(file, [*values, b"bytes", b"nobody"]) == {**values, b"bytes": b"\x00\x01"}
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_written_is_left_out_and_the_rest_is_kept(file: Path) -> None:
    keep(file, {b"surrogate": "\ud83d", b"number": 2**70, b"object": object(), b"good": 1})
    assert found(file, [b"surrogate", b"number", b"object", b"good"]) == {b"good": 1}


def test_a_cache_goes_on_after_a_flush(file: Path) -> None:
    cache = Cache(file, "on", LARGE)
    for index in range(3):
        cache.keep({b"%d" % index: index})
        cache.flush()
        assert cache.find([b"%d" % index]) == {b"%d" % index: index}
    cache.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "fairmark-cache"]


def test_flushing_while_others_write_neither_hangs_nor_loses(file: Path) -> None:
    cache = Cache(file, "on", LARGE)
    keys = [[b"%d %d" % (writer, index) for index in range(300)] for writer in range(4)]

    def write(mine: list[bytes]) -> None:
        for key in mine:
            cache.keep({key: 1})

    threads = [threading.Thread(target=write, args=(mine,)) for mine in keys]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        cache.flush()
    cache.close()
    assert len(found(file, [key for mine in keys for key in mine])) == 1200


# Modes


def test_off_neither_reads_nor_writes(file: Path) -> None:
    keep(file, {b"a": 1})
    keep(file, {b"b": 1}, "off")
    assert found(file, [b"a", b"b"], "off") == {}
    assert found(file, [b"a", b"b"]) == {b"a": 1}


def test_read_only_reads_and_writes_nothing(file: Path, log: list[str]) -> None:
    keep(file, {b"a": 1})
    keep(file, {b"a": 2, b"b": 2}, "read_only")
    assert found(file, [b"a", b"b"], "read_only") == {b"a": 1}
    assert log == []
    none = file.with_name("none.db")
    assert found(none, [b"a"], "read_only") == {}
    assert not none.exists()


def test_refresh_asks_for_everything_and_stores_it(file: Path) -> None:
    keep(file, {b"a": 1})
    assert found(file, [b"a"], "refresh") == {}
    keep(file, {b"a": 2}, "refresh")
    assert found(file, [b"a"]) == {b"a": 2}


def test_read_only_reads_a_file_that_nobody_can_write(file: Path) -> None:
    """As on a read-only volume: SQLite cannot even make its own files beside it."""
    keep(file, {b"a": 1})
    code = """
        import sys, pathlib
        from fairmark.judges.cache import Cache
        cache = Cache(pathlib.Path(sys.argv[1]), "read_only", 1000)
        print(cache.find([b"a"]))
        cache.close()
    """
    bubblewrap = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    done = subprocess.run(
        [*bubblewrap, sys.executable, "-c", textwrap.dedent(code), file],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
    )
    assert (done.stdout, done.stderr) == ("{b'a': 1}\n", "")


# Its size


def total(file: Path) -> int:
    with sqlite3.connect(file) as connection:
        (size,) = connection.execute("select sum(size) from answers").fetchone()
    connection.close()
    return int(size)


def test_the_file_stays_within_its_bound_and_the_longest_unused_go_first(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = SimpleNamespace(time=1_000_000.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: now.time, monotonic=time.monotonic))
    keys = [b"%02d" % index for index in range(20)]
    for key in keys:
        keep(file, {key: "x" * 920})
        now.time += 10
    now.time += 2 * module.TOUCH_AFTER_S
    cache = Cache(file, "on", LARGE)
    assert list(cache.find([keys[0], keys[5]])) == [keys[0], keys[5]]  # used again, so they are young now
    cache.close()
    now.time += 10
    keep(file, {b"new": "x" * 920}, most_bytes=10_500)
    left = found(file, [*keys, b"new"])
    assert sorted(left) == [keys[0], keys[5], *keys[14:], b"new"]
    assert total(file) <= 9_450


def test_a_long_run_keeps_to_the_bound_while_it_writes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_AT_SIZE_EVERY", 50)
    cache = Cache(file, "on", 100_000)
    for index in range(1000):
        cache.keep({key_of(index): "x" * 1000})
        if index % 100 == 99:
            cache.flush()
    cache.close()
    assert 80_000 < total(file) <= 100_000
    assert file.stat().st_size < 400_000


# Many processes


def test_many_processes_write_and_read_one_file_at_once(file: Path) -> None:
    """All start with no file at all, so they also make it at once. Each reads all along what the others wrote."""
    code = """
        import json, pathlib, sys, time
        from fairmark.judges.cache import Cache, key_of
        file, me = pathlib.Path(sys.argv[1]), int(sys.argv[2])
        file.parent.mkdir(exist_ok=True)
        (file.parent / f"ready {me}").touch()
        while len(list(file.parent.glob("ready *"))) < 6:
            time.sleep(0.005)
        cache = Cache(file, "on", 10**9)
        wrong = 0
        for index in range(300):
            cache.keep({key_of(me, index): [me, index], key_of("shared", index): "the same"})
            seen = cache.find([key_of(other, index) for other in range(6)] + [key_of("shared", index)])
            wrong += sum(value != "the same" and value[1] != index for value in seen.values())
        cache.flush()
        print(json.dumps([wrong, len(cache.find([key_of(me, index) for index in range(300)]))]))
        cache.close()
    """
    processes = [python(code, file, me) for me in range(6)]
    assert [json.loads(out) for out in finished(*processes)] == [[0, 300]] * 6
    keys = [key_of(me, index) for me in range(6) for index in range(300)]
    assert len(found(file, keys)) == 1800
    assert len(found(file, [key_of("shared", index) for index in range(300)])) == 300


def test_who_opens_a_new_file_waits_for_another_who_makes_it(file: Path, log: list[str]) -> None:
    """SQLite does not wait by itself where somebody else is just writing the first page."""
    file.parent.mkdir()
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")
    other.execute("create table something (a)")
    release = threading.Timer(0.3, other.execute, ("commit",))
    release.start()
    keep(file, {b"a": 1})
    release.join()
    other.close()
    assert (found(file, [b"a"]), log) == ({b"a": 1}, [])


def test_a_child_forked_while_its_parent_writes_can_write_and_read(file: Path) -> None:
    """SQLite's locks lie in memory: a child would inherit its parent's for ever. Also with the very same object."""
    code = """
        import logging, os, pathlib, signal, sys, threading, time
        from fairmark.judges import cache as module
        from fairmark.judges.cache import Cache, key_of
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        module.WRITE_EVERY_S = 0.0
        file, stop = pathlib.Path(sys.argv[1]), threading.Event()
        inherited = Cache(file, "on", 10**9)

        def write():
            for number in range(10**9):
                if stop.is_set():
                    return
                inherited.keep({key_of("parent", number): "x" * 300})
                inherited.find([key_of("parent", number)])
                time.sleep(0.0002)

        writing = threading.Thread(target=write)
        writing.start()
        for child in range(20):
            time.sleep(0.005)
            process = os.fork()
            if process == 0:
                signal.alarm(30)  # one that hangs is ended, and told below
                good = 0
                for cache in (inherited, Cache(file, "on", 10**9)):
                    key = key_of("child", child, good)
                    cache.keep({key: child})
                    cache.flush()
                    good += cache.find([key]) == {key: child}
                    cache.close()
                os._exit(good)
            if (code := os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])) != 2:
                print(f"child {child} ended with {code}")
                break
        stop.set()
        writing.join()
        inherited.close()
    """
    assert finished(python(code, file)) == [""]
    assert len(found(file, [key_of("child", child, each) for child in range(20) for each in (0, 1)])) == 40


def test_a_process_that_is_killed_leaves_a_file_that_others_can_use(file: Path) -> None:
    code = """
        import os, pathlib, signal, sys
        from fairmark.judges.cache import Cache, key_of
        cache = Cache(pathlib.Path(sys.argv[1]), "on", 10**9)
        for index in range(10**9):
            cache.keep({key_of(index): "x" * 500})
            if index == 20_000:
                print("now", flush=True)
    """
    process = python(code, file)
    assert process.stdout
    assert process.stdout.readline() == "now\n"
    process.kill()
    process.communicate()
    keep(file, {b"after": 1})
    assert found(file, [b"after"]) == {b"after": 1}
    with sqlite3.connect(file) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    connection.close()


GRADING = """
    import os, sys
    import fairmark
    from fairmark.judges import chosen
    from fairmark.judges.asking import AskingJudge
    from fairmark.judges.cache import Cache
    from fairmark.judges.models import read_registry
    from fairmark.settings import settings

    class Sender:
        asked = 0

        async def post(self, model, path, body, tab):
            Sender.asked += 1
            tab.attempts += 1
            message = {"role": "assistant", "content": '{"steps": [], "result": 0.5}'}
            return {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}

    def opened(given):
        return AskingJudge(read_registry(), Sender(), Cache(given.data_folder / "judgements.db", "on", 10**9))

    chosen.open_judge = opened

    def grade(text):
        grader = {"type": "score_model", "model": "local/x", "input": [{"role": "user", "content": text}]}
        result = fairmark.grade(grader)
        assert result.status == "graded", result
        return result
"""


def run_grading(code: str, home: Path) -> list[str]:
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(GRADING) + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={**os.environ, "FAIRMARK_HOME": str(home)},
        cwd=home,
        timeout=120,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout.splitlines()


def test_answers_of_a_process_that_ends_at_once_are_stored(tmp_path: Path) -> None:
    assert run_grading('grade("a"); grade("b"); print(Sender.asked)', tmp_path) == ["2"]
    assert run_grading('grade("a"); grade("b"); grade("c"); print(Sender.asked)', tmp_path) == ["1"]


def test_parent_and_forked_child_both_go_on_and_both_store(tmp_path: Path) -> None:
    code = """
        grade("before")
        child = os.fork()
        who = "parent" if child else "child"
        Sender.asked = 0
        grade("before")
        grade(f"after in the {who}")
        if child:
            assert os.waitpid(child, 0)[1] == 0
        grade(f"last in the {who}")
        print(who, Sender.asked, flush=True)
        sys.exit(0)
    """
    # The answer from before may still be on its way to the disk when the child looks for it.
    lines = sorted(run_grading(code, tmp_path))
    assert lines[0] in ("child 2", "child 3")
    assert lines[1] in ("parent 2", "parent 3")
    again = """
        for who in ("parent", "child"):
            grade(f"after in the {who}")
            grade(f"last in the {who}")
        grade("before")
        print(Sender.asked)
    """
    assert run_grading(again, tmp_path) == ["0"]


# What cannot be used


def spoil_by_folder(file: Path) -> None:
    file.mkdir(parents=True)


def spoil_by_file_above(file: Path) -> None:
    file.parent.write_text("a file where the folder should be")


def spoil_by_noise(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"this is no database " * 1000)


def spoil_by_other_tables(file: Path) -> None:
    file.parent.mkdir()
    with sqlite3.connect(file) as connection:
        connection.execute("create table answers (a, b)")
    connection.close()


def spoil_by_damage(file: Path) -> None:
    keep(file, {key_of(index): "x" * 500 for index in range(2000)})
    content = bytearray(file.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 200] = b"\xff" * 200
    file.write_bytes(content)


def spoil_by_values(file: Path) -> None:
    keep(file, {key_of(0): 1})
    with sqlite3.connect(file) as connection:
        connection.execute("update answers set value = ?", (b"\xc1 no msgpack",))
    connection.close()


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_by_folder,
        spoil_by_file_above,
        spoil_by_noise,
        spoil_by_other_tables,
        spoil_by_damage,
        spoil_by_values,
    ],
)
def test_a_file_that_cannot_be_used_is_logged_once_and_everything_is_asked(
    file: Path, log: list[str], spoil: Any
) -> None:
    spoil(file)
    cache = Cache(file, "on", LARGE)
    for index in range(5):
        assert cache.find([key_of(index)]) == {}
        cache.keep({key_of(index): 1})
        cache.flush()
    cache.close()
    assert len(log) == 1
    assert log[0].startswith(f"the cache of judges' answers cannot be used: {file}: ")


def test_writing_into_what_cannot_be_used_is_logged_once_too(file: Path, log: list[str]) -> None:
    spoil_by_folder(file)
    cache = Cache(file, "refresh", LARGE)
    for index in range(5):
        cache.keep({key_of(index): 1})
        cache.flush()
    cache.close()
    assert len(log) == 1


def test_a_full_disk_is_logged_once_and_what_was_stored_before_is_still_found(file: Path) -> None:
    """No file may grow beyond a bound in that process, which is what a full disk looks like."""
    code = """
        import logging, pathlib, resource, signal, sys
        from fairmark.judges.cache import Cache, key_of
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        cache = Cache(pathlib.Path(sys.argv[1]), "on", 10**9)
        for index in range(2000):
            cache.keep({key_of(index): "x" * 1000})
            if index % 100 == 0:
                cache.flush()
        cache.close()
    """
    (out,) = finished(python(code, file))
    assert out.count("\n") == 1
    assert out.startswith(f"the cache of judges' answers cannot be used: {file}: ")
    assert found(file, [key_of(0), key_of(1999)]) == {key_of(0): "x" * 1000}


def test_a_file_that_vanishes_under_way_harms_nobody(file: Path) -> None:
    cache = Cache(file, "on", LARGE)
    cache.keep({b"a": 1})
    cache.flush()
    assert cache.find([b"a"]) == {b"a": 1}
    shutil.rmtree(file.parent)
    cache.keep({b"b": 1})
    cache.flush()
    cache.find([b"a", b"b"])
    cache.close()
