"""A worker as a process of its own, with a scripted trainer: python -m tests.training.atwork URL HOME MODEL SCRIPT"""

import sys
from pathlib import Path

from fairmark.training.attendance import WorkerTerms
from fairmark.training.door import JobDoor
from fairmark.training.plan import TrainingOptions
from fairmark.training.worker import Worker, new_name

if __name__ == "__main__":
    url, home, model, script = sys.argv[1:]
    command = (sys.executable, str(Path(__file__).with_name("scripted.py")), script)
    terms = WorkerTerms(Path(home), {model: Path(home)}, TrainingOptions(), lease_s=3, command=command)
    Worker(JobDoor(url, None), terms, new_name(), print).work()
