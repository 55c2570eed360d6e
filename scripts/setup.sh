#!/usr/bin/env bash
# Creates .venv from nothing but Python 3.11+ (and apt, where Python's own parts or a C compiler are missing).
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/apt.sh

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
  local name
  for name in ${PYTHON:-} python3.13 python3.12 python3.11 python3.14 python3; do
    if command -v "$name" >/dev/null && new_enough "$name"; then command -v "$name"; return; fi
  done
  return 1
}

python=$(find_python) || { apt_install python3 python3-venv && python=$(find_python); } || {
  say "Python 3.11 or newer is needed and was not found."
  say "Install it (Debian/Ubuntu: apt-get install python3 python3-venv) or name one: make setup PYTHON=/path/to/python3"
  exit 1
}

# Debian ships Python without the part that makes virtual environments.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  apt_install "python$version-venv" || apt_install python3-venv || {
    say "$python cannot create virtual environments (no ensurepip) and apt could not install it here."
    say "As root: apt-get install python$version-venv"
    exit 1
  }
fi

say "Creating .venv with $("$python" --version)"
[ -x .venv/bin/python ] && new_enough .venv/bin/python || "$python" -m venv --clear .venv
pip() { .venv/bin/python -m pip --disable-pip-version-check "$@" --quiet; }
pip install -r requirements/dev.txt
pip install --no-deps -r requirements/no-deps.txt

# For the compiled core of ROUGE. Everything works without it, only slower; but the tests ask for it.
command -v ${CC:-cc gcc clang} >/dev/null || apt_install gcc libc6-dev ||
  say "There is no C compiler, and apt could not install one."
headers=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -f "$headers/Python.h" ] || apt_install "$(basename "$headers")-dev" || apt_install python3-dev ||
  say "There is no $headers/Python.h, and apt could not install it."
pip install --no-deps --no-build-isolation -e .
.venv/bin/python -c 'import fairmark.metrics._rouge' 2>/dev/null ||
  say "Fairmark was installed without its compiled core: ROUGE will be slower, and its tests will say so."

# python graders run in a sandbox that needs these two; everything else works without them.
missing=()
command -v bwrap >/dev/null || missing+=(bubblewrap)
.venv/bin/python -c 'import ctypes; ctypes.CDLL("libseccomp.so.2")' 2>/dev/null || missing+=(libseccomp2)
if [ ${#missing[@]} -gt 0 ] && ! apt_install "${missing[@]}"; then
  say "Missing: ${missing[*]}. python and function graders will not run here until they are installed."
fi
# The tests of the server's database run on PostgreSQL too; Debian keeps its programs out of the PATH.
[ -n "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ] || command -v initdb >/dev/null || apt_install postgresql ||
  say "There is no PostgreSQL, and apt could not install it: the tests of the store will fail."
# Models on this machine need OpenMP's library, which minimal systems lack.
.venv/bin/python -c 'import xllamacpp' 2>/dev/null || apt_install libgomp1 ||
  say "xllamacpp cannot be imported: local/ models will not run here."
# The tests of the web page look at it in a real browser.
[ -x /usr/bin/chromium-headless-shell ] || apt_install chromium-headless-shell || [ -x /usr/bin/chromium ] || apt_install chromium ||
  say "There is no Chromium in /usr/bin, and apt could not install it: the tests of the web page will fail."
