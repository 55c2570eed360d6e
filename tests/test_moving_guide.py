"""The guide for those who move in: all its commands, in its order, against a double of the hosted service."""

import re
import subprocess
import sys
from pathlib import Path

from tests import command
from tests.hosted import KEY, hosting
from tests.test_docs import GUIDE, blocks, commands, with_free_port


def test_every_command_of_the_guide_does_what_it_shows(tmp_path: Path) -> None:
    path = f"{command.folder()}:{Path(sys.executable).parent}:/usr/bin:/bin"
    with hosting() as hosted:
        env = {"PATH": path, "COLUMNS": "500", "LANG": "C.UTF-8", "FAIRMARK_HOME": str(tmp_path / "home")}
        env |= {"OPENAI_BASE_URL": hosted.base_url}
        ran = 0
        for block in blocks(GUIDE, "console"):
            for line, expected in commands(with_free_port(block)):
                # What the reader exports stays; each line here is a shell of its own.
                if line.startswith("export OPENAI_API_KEY="):
                    env["OPENAI_API_KEY"] = KEY
                    continue
                done = subprocess.run(
                    ["bash", "-c", line], capture_output=True, text=True, env=env, cwd=tmp_path, check=False
                )
                printed = done.stdout + done.stderr + (f"[exit {done.returncode}]\n" if "[exit " in expected else "")
                pattern = ".*?".join(re.escape(part) for part in expected.split("..."))
                assert re.fullmatch(pattern, printed, flags=re.DOTALL), f"{line}\n{printed}"
                assert KEY not in printed
                ran += 1
    assert ran > 15
    assert "Traceback" not in (tmp_path / "serve.log").read_text()
