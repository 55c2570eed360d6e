"""The cache of judges' answers: real processes that share it."""

import json
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

from fairmark.judges.cache import key_of
from tests import command
from tests.judges.caching import file, finished, found, keep, log, python

__all__ = ["file", "log"]


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
    import os, sys, warnings
    warnings.simplefilter("error")
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


def run_grading(code: str, home: Path, cold: bool = False) -> list[str]:
    """What it prints. A `cold` one takes its modules apart at its end."""
    script, env = textwrap.dedent(GRADING) + textwrap.dedent(code), {**os.environ, "FAIRMARK_HOME": str(home)}
    if cold:
        words = [sys.executable, "-W", "error", "-c", script]
        process = subprocess.run(words, capture_output=True, text=True, env=env, cwd=home, timeout=120, check=False)
    else:
        process = command.python(script, env=env, cwd=home)
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout.splitlines()


def test_answers_of_a_process_that_ends_at_once_are_stored(tmp_path: Path) -> None:
    assert run_grading('grade("a"); grade("b"); print(Sender.asked)', tmp_path, cold=True) == ["2"]
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
    lines = sorted(run_grading(code, tmp_path, cold=True))
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
