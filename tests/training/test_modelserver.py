"""The server of trained models: what is started, and that it is kept running."""

import os
import sys
from pathlib import Path

import pytest

from fairmark.errors import InvalidData
from fairmark.training import modelserver
from fairmark.training.modelserver import ModelServer, command, read_place
from tests.server.client import wait_for
from tests.test_command import is_alive

FAKE = """#!{python}
import os, sys, time
with open({told!r}, "a") as told:
    told.write(" ".join([str(os.getpid()), *sys.argv[1:]]) + "\\n")
time.sleep(600)
"""


def test_places_are_a_port_or_a_host_and_a_port() -> None:
    assert read_place("8200") == ("127.0.0.1", 8200)
    assert read_place("0.0.0.0:8200") == ("0.0.0.0", 8200)  # noqa: S104  # as asked
    assert read_place("[::]:8200") == ("::", 8200)
    for wrong in ("", "x", "host:", "70000", "host:0"):
        with pytest.raises(InvalidData, match="--serve"):
            read_place(wrong)


def test_transformers_serves_whatever_is_asked_for_and_vllm_the_newest() -> None:
    place = ("127.0.0.1", 8200)
    served = command("transformers", place, Path("/models"), None)
    assert served is not None
    assert served[1:] == ["-m", "transformers.cli.transformers", "serve", "--host", "127.0.0.1", "--port", "8200"]
    assert command("vllm", place, Path("/models"), None) is None
    assert command("vllm", place, Path("/models"), "ft:m::1") == [
        *("vllm", "serve", "/models/ft:m::1", "--served-model-name", "ft:m::1"),
        *("--host", "127.0.0.1", "--port", "8200"),
    ]


def test_a_new_model_takes_the_old_ones_place_and_a_server_that_ends_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    program = tmp_path / "bin" / "vllm"
    program.parent.mkdir()
    program.write_text(FAKE.format(python=sys.executable, told=str(told)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(modelserver, "FIRST_PAUSE_S", 0.01)
    old = tmp_path / "models" / "ft:m::1"
    old.mkdir(parents=True)
    (old / "config.json").write_text("{}")
    (tmp_path / "models" / "ft:m::1:ckpt-step-1").symlink_to(old)

    def lines() -> list[str]:
        return told.read_text().splitlines() if told.exists() else []

    said: list[str] = []
    server = ModelServer("vllm", ("127.0.0.1", 8200), tmp_path, said.append)
    server.start()
    try:
        wait_for(lambda: len(lines()) == 1)
        assert "ft:m::1" in lines()[0]
        server.add("ft:m::2")
        wait_for(lambda: len(lines()) == 2)
        first, second = (int(line.split()[0]) for line in lines())
        assert "--served-model-name ft:m::2" in lines()[1]
        wait_for(lambda: not is_alive(first))
        assert said == []
        os.kill(second, 9)
        wait_for(lambda: len(lines()) == 3)
        assert "The server of models ended" in said[0]
    finally:
        server.stop()
    wait_for(lambda: not any(is_alive(int(line.split()[0])) for line in lines()))
