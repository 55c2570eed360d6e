# For the scripts beside this one: say something, and install what only the system's packages have.

say() { printf '%s\n' "$*" >&2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else return 1; fi
}

apt_is_fresh=

# apt_install PACKAGE...: true when they are installed now.
apt_install() {
  command -v apt-get >/dev/null || return 1
  say "Installing system packages: $*"
  [ -n "$apt_is_fresh" ] || as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 update -qq || return 1
  apt_is_fresh=yes
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends "$@" |
    sed -unE 's/^(Setting up [^ ]+).*/  \1/p; s/^(Need to get .*)/  \1/p' >&2
}
