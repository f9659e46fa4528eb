# What the host must have to boot a guest. Sourced by tests/verbs/run.

# Pairs of a program and the package that has it. The package rdma-core is not among them: it would
# pull in udev, and devtmpfs makes the device nodes here.
needed_programs=(
  qemu-system-x86_64:qemu-system-x86
  busybox:busybox-static
  depmod:kmod
  modprobe:kmod
  xz:xz-utils
  zstd:zstd
  ip:iproute2
  rdma:iproute2
)
provider='/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so' # of the package ibverbs-providers

PATH=$PATH:/usr/sbin:/sbin # where some of them are, for an ordinary user too

missing_packages() {
  local pair
  for pair in "${needed_programs[@]}"; do
    command -v "${pair%:*}" >/dev/null || echo "${pair#*:}"
  done
  compgen -G "$provider" >/dev/null || echo ibverbs-providers
}

# apt_do ARGUMENT...: runs apt-get quietly. It tries again when the network stumbles, and waits for
# another apt that holds a lock.
apt_do() {
  LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
    -o Acquire::Retries=3 -o APT::Sandbox::User=root "$@" >>"$cache/apt.log" 2>&1 </dev/null
}

# Tries three times, since an index may just be replaced on the mirror. Only root can do it.
update_index() {
  [ "$EUID" -eq 0 ] || return 0
  local pause
  for pause in 5 20 0; do
    apt_do update && return 0
    sleep "$pause"
  done
  return 1
}

# The end of apt's own words, before a message of ours.
show_apt_log() { tail -n 5 "$cache/apt.log" >&2 || true; }

install_programs() {
  : >"$cache/apt.log"
  [ "$(uname -m)" = x86_64 ] ||
    unavailable "it is of kind $(uname -m), and the guest runs the host's programs as x86_64"
  local missing
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  mapfile -t missing < <(sort -u <<<"$missing")
  command -v apt-get >/dev/null ||
    unavailable "it has no apt-get and lacks what these packages hold: ${missing[*]}"
  [ "$EUID" -eq 0 ] ||
    unavailable "these packages are missing, and only root can install them: ${missing[*]}"
  say "installing ${missing[*]}"
  apt_do install --no-install-recommends "${missing[@]}" && return 0
  { update_index && apt_do install --no-install-recommends "${missing[@]}"; } && return 0
  show_apt_log
  unavailable "apt cannot install ${missing[*]} (its whole log: $cache/apt.log)"
}
