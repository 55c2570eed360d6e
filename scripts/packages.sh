# For the scripts beside this one, in the project's folder: install Python packages.
#
# By uv, which does in seconds what takes pip most of a minute. It does not read how pip is set up on a machine (another
# index, wheels in a folder, certificates), so it is told. Where uv cannot be had, or cannot install what is asked for,
# pip does.

# packages PYTHON ARGUMENT...: for the environment of that Python, as `pip install ARGUMENT...`. Tells what is
# downloaded, and how large it is.
packages() {
  local python=$1
  shift
  if [ -x .venv/bin/uv ] && uv_install "$python" "$@"; then return; fi
  say "  by pip"
  .venv/bin/python -m pip --python "$python" --disable-pip-version-check install --no-compile --progress-bar off "$@" |
    sed -unE 's/^ +(Downloading|Using cached) ([^ ]*\/)?([^ ]+)-([0-9][^- ]*)-[^ ]+\.whl.* \((.*)\)$/  \3 \4 (\5)/p' >&2
}

uv_install() {
  # pip takes the best version of all indexes; uv, left to itself, that of the first one which has any.
  local python=$1 settings told=(--index-strategy unsafe-best-match) value cert
  shift
  settings=$(.venv/bin/python -m pip config list)
  for value in $(pip_setting index-url); do told+=(--index-url "$value"); done
  for value in $(pip_setting extra-index-url); do told+=(--extra-index-url "$value"); done
  for value in $(pip_setting find-links); do told+=(--find-links "$value"); done
  for value in $(pip_setting trusted-host); do told+=(--allow-insecure-host "$value"); done
  [ -z "$(pip_setting no-index)" ] || told+=(--no-index)
  cert=$(pip_setting cert)
  env ${cert:+"SSL_CERT_FILE=$cert"} .venv/bin/uv pip install --python "$python" "${told[@]}" "$@" 2>&1 |
    sed -uE '/^ *(Using Python|Resolved|Prepared|Installed|Uninstalled|Audited|Checked|Downloaded|Built|[-+~]) /d
      s/^ *(Downloading|Building) ([^ ]+)( .*)?$/  \2\3/' >&2
}

# What pip would take for an option: the environment's word comes first.
pip_setting() { sed -nE "s/^(:env:|install|global)\.$1='(.*)'$/\2/p" <<<"$settings" | sed 's/\\n/ /g; q'; }
