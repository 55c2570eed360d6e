"""`from adaptive_harmony import StringThread`, where no package of that name is installed.

This folder has no `__init__.py`, and must never get one: so it is the last that Python takes, behind a package or
module `adaptive_harmony` wherever that is installed. The name a user asks for is then looked for as a module in here,
and a module may put something else in its own place.
"""

import sys

from fairmark import StringThread

sys.modules[__name__] = StringThread  # what the importer hands out
