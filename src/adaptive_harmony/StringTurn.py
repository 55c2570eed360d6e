"""`from adaptive_harmony import StringTurn`, as StringThread.py beside it."""

import sys

from fairmark.sandbox.inside.adaptive_harmony import StringTurn

sys.modules[__name__] = StringTurn  # what the importer hands out
