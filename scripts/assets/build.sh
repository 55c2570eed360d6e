#!/usr/bin/env bash
# make assets: builds what the web page vendors, in build/assets, into src/fairmark/web/static/vendor.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/apt.sh

missing=()
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
if [ ${#missing[@]} -gt 0 ] && ! apt_install "${missing[@]}"; then
  say "Missing: ${missing[*]}. The assets are built by them, and apt could not install them here."
  exit 1
fi
mkdir -p build/assets
cp scripts/assets/{package.json,codemirror.js,build.mjs} build/assets/
cd build/assets
# No lock: every package has an exact version in package.json, and locks name the registry they were made with.
npm install --no-package-lock --no-audit --no-fund --loglevel=error >&2
node build.mjs ../../src/fairmark/web/static/vendor
