# The guest's kernel: downloaded and unpacked into the cache, never installed. Sourced by
# tests/verbs/run.

# Debian's and Ubuntu's names for "the newest full kernel"; the cloud flavours lack rdma_rxe.
recommended_image() {
  local meta
  for meta in linux-image-amd64 linux-image-generic; do
    LC_ALL=C apt-cache depends "$meta" 2>/dev/null |
      sed -n 's/^ *|\{0,1\}Depends: \(linux-image-[0-9].*\)$/\1/p' | sed -n 1p
  done | sed -n 1p
}

# The package to use: the caller's choice, else an earlier run's, else what apt recommends.
choose_image() {
  local image=${VERBS_GUEST_KERNEL:-}
  [ -n "$image" ] || [ ! -e "$cache/image" ] || image=$(<"$cache/image")
  [ -n "$image" ] || image=$(recommended_image)
  if [ -z "$image" ]; then
    update_index || show_apt_log
    image=$(recommended_image)
  fi
  printf %s "$image"
}

# Ubuntu keeps the modules in packages of their own.
packages_with() {
  local release=$1 image=$2 package
  echo "$image"
  for package in "linux-modules-$release" "linux-modules-extra-$release"; do
    if apt-cache show "$package" >/dev/null 2>&1; then echo "$package"; fi
  done
}

# download RELEASE IMAGE: into the working directory. An index out of date names what is gone.
download() {
  say "downloading the kernel of $2"
  local packages
  packages=$(packages_with "$@")
  # shellcheck disable=SC2086 # several words
  apt_do download $packages && return 0
  update_index || return 1
  packages=$(packages_with "$@")
  # shellcheck disable=SC2086
  apt_do download $packages
}

# An emulated processor takes seconds to decompress a bzImage: the ELF image inside it is taken out
# here, and QEMU starts that by the kernel's PVH entry. The x86 boot protocol keeps the number of
# set-up sectors at 0x1f1, the payload's offset and length at 0x248 and 0x24c. Should the payload be
# packed in another way, the bzImage itself serves.
unpack_image() {
  local sectors offset length unpack
  sectors=$(od -An -tu1 -j $((0x1f1)) -N 1 "$1")
  offset=$(od -An -tu4 -j $((0x248)) -N 4 "$1")
  length=$(od -An -tu4 -j $((0x24c)) -N 4 "$1")
  for unpack in 'xz -dc --single-stream' 'zstd -dc' 'gzip -dc'; do
    { tail -c +$(((sectors + 1) * 512 + offset + 1)) "$1" | head -c "$length" |
      $unpack >"$2"; } 2>/dev/null || true
    [ "$(head -c 4 "$2" | tr -d '\0')" != $'\x7fELF' ] || return 0
  done
  cp "$1" "$2"
}

# unpack RELEASE FOLDER: FOLDER/*.deb become FOLDER/kernel with the image and its modules.
unpack() {
  local release=$1 new=$2 package modules
  for package in "$new"/*.deb; do dpkg -x "$package" "$new/files"; done
  mkdir -p "$new/kernel/lib/modules/$release"
  for modules in "$new"/files{/usr,}/lib/modules/"$release"; do # /usr/lib since Debian 13
    [ ! -d "$modules" ] || cp -al "$modules/." "$new/kernel/lib/modules/$release/"
  done
  depmod -b "$new/kernel" "$release"
  unpack_image "$new/files/boot/vmlinuz-$release" "$new/kernel/vmlinux"
  chmod 755 "$new/kernel"
}

# Sets kernel_release and kernel_folder (vmlinux, lib/modules).
prepare_kernel() {
  local image new
  image=$(choose_image)
  [ -n "$image" ] ||
    unavailable "apt knows neither linux-image-amd64 nor linux-image-generic ($cache/apt.log)"
  kernel_release=${image#linux-image-}
  kernel_release=${kernel_release#unsigned-}
  kernel_folder=$cache/$kernel_release
  if [ ! -d "$kernel_folder" ]; then
    rm -rf "$cache"/new.* # of a run that was killed
    new=$(mktemp -d "$cache/new.XXXXXX")
    (cd "$new" && download "$kernel_release" "$image") ||
      { show_apt_log; rm -rf "$new"; unavailable "apt cannot download $image"; }
    unpack "$kernel_release" "$new"
    modprobe -d "$new/kernel" -S "$kernel_release" --show-depends rdma_rxe >/dev/null ||
      { rm -rf "$new"; unavailable "the kernel of $image has no Soft-RoCE (rdma_rxe)"; }
    mv -T "$new/kernel" "$kernel_folder"
    rm -rf "$new"
  fi
  [ -n "${VERBS_GUEST_KERNEL:-}" ] || echo "$image" >"$cache/image"
}
