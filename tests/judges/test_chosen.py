"""The judge of this process."""

import os
import subprocess
import sys

from tests.judges.faults import Answer, FaultServer

CODE = "import asyncio\nfrom fairmark.judges import chosen\nprint(asyncio.run(chosen.offered()))\n"


def test_whoever_asked_for_the_models_of_a_provider_ends_without_a_complaint() -> None:
    with FaultServer() as provider:
        provider.always(Answer())
        env = {"PATH": os.environ["PATH"], "OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "EMPTY"}
        done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{}\n", "")
