# For the scripts beside this one: say something, and install what only the system's packages have.

say() { printf '%s\n' "$*" >&2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else return 1; fi
}

# apt_install PACKAGE...: true when they are installed now.
apt_install() {
  command -v apt-get >/dev/null || return 1
  say "Installing system packages: $*"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
