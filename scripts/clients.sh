#!/usr/bin/env bash
# clients.sh NAME: creates .venv-clients/NAME out of requirements/clients/NAME.txt, or NAME.json for Node.
# Each is a client of the server that the tests drive, in an environment of its own: two of them are one package.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/apt.sh

name=$1
folder=.venv-clients/$name
say "Creating $folder"

if [ -f "requirements/clients/$name.txt" ]; then
  .venv/bin/python -m venv --clear "$folder"
  "$folder/bin/python" -m pip --disable-pip-version-check install --no-compile --progress-bar off \
    -r "requirements/clients/$name.txt" | sed -un 's/^Successfully i/  I/p' >&2
  exit
fi

missing=()
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
if [ ${#missing[@]} -gt 0 ] && ! apt_install "${missing[@]}"; then
  say "Missing: ${missing[*]}. The tests with OpenAI's package for Node need them, and apt could not install them here."
  exit 1
fi
rm -rf "$folder"
mkdir -p "$folder"
cp "requirements/clients/$name.json" "$folder/package.json"
# No lock: the one package has an exact version and no dependencies, and locks name the registry they were made with.
npm install --prefix "$folder" --no-package-lock --no-audit --no-fund --loglevel=error >&2
