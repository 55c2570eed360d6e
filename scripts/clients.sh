#!/usr/bin/env bash
# clients.sh FILE: creates .venv-clients/NAME out of requirements/ROOM/NAME.txt, or NAME.json for Node.
# Each is a package of others that the tests drive, in an environment of its own: two of them are one package.
# What ROOM/alone/NAME.txt lists is taken without what it asks for: a trainer asks for much that only machines with a GPU
# can have, and the reward's side needs none of it. torch for CPUs is taken where pip finds such a wheel (PIP_FIND_LINKS);
# the usual one has gigabytes.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/apt.sh
. scripts/packages.sh

file=$1
room=$(dirname "$file")
name=$(basename "${file%.*}")
folder=.venv-clients/$name
say "Creating $folder"

case $file in
*.txt)
  # Installed into from .venv: a pip of its own would take as long as many a package.
  .venv/bin/python -m venv --clear --without-pip "$folder"
  packages "$folder/bin/python" -r "$file"
  [ ! -f "$room/alone/$name.txt" ] || packages "$folder/bin/python" --no-deps -r "$room/alone/$name.txt"
  exit
  ;;
esac

missing=()
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
if [ ${#missing[@]} -gt 0 ] && ! apt_install "${missing[@]}"; then
  say "Missing: ${missing[*]}. The tests with packages for Node need them, and apt could not install them here."
  exit 1
fi
rm -rf "$folder"
mkdir -p "$folder"
cp "$file" "$folder/package.json"
# No lock: the one package has an exact version and no dependencies, and locks name the registry they were made with.
npm install --prefix "$folder" --no-package-lock --no-audit --no-fund --loglevel=error >&2
