# The first root of the guest: busybox, the kernel's modules in the order of loading, and the
# scripts of this folder. Sourced by tests/verbs/run.

# What it takes to reach the host's files, then RDMA. depmod tells what these need, but for one
# thing: rxe asks the kernel for "crc32" by name, and without that module adding a device fails.
modules="virtio_pci virtio_console 9pnet_virtio 9p overlay
  crc32_generic veth dummy ib_uverbs ib_umad rdma_ucm rdma_rxe"

# Paths of the modules and of what they need, each once, in the order of loading.
module_files() {
  local module
  for module in $modules; do
    modprobe -d "$kernel_folder" -S "$kernel_release" --show-depends "$module" 2>/dev/null ||
      say "note: kernel $kernel_release has no module $module"
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# Busybox loads modules only as they were before they were compressed.
add_module() {
  local name=${1##*/}
  name=${name%.xz} name=${name%.zst}
  case $1 in
    *.xz) xz -dc "$1" >"$2/$name" ;;
    *.zst) zstd -qdc "$1" >"$2/$name" ;;
    *) cp "$1" "$2/$name" ;;
  esac
  echo "$name" >>"$2/list"
}

# archive FOLDER: a cpio archive of it on standard output.
archive() { (cd "$1" && find . | busybox cpio -o -H newc 2>/dev/null); }

# Sets initramfs. Named after what it is made of, so that no other checkout's is taken for it.
prepare_initramfs() {
  local key new file files
  key=$(cat "$folder"/guest/* "$(command -v busybox)" | cksum | tr -d ' ')
  initramfs=$kernel_folder/initramfs-$key.cpio
  [ ! -e "$initramfs" ] || return 0
  find "$kernel_folder" -maxdepth 1 -name 'initramfs-*' -mtime +1 -delete
  new=$(mktemp -d "$cache/new.XXXXXX")
  mkdir -p "$new/root/bin" "$new/root/modules"
  cp "$(command -v busybox)" "$new/root/bin/busybox"
  cp "$folder/guest/init" "$folder/guest/start" "$folder/guest/devices" "$new/root/"
  chmod 755 "$new/root/init"
  files=$(module_files)
  for file in $files; do add_module "$file" "$new/root/modules"; done
  archive "$new/root" >"$new/archive"
  mv "$new/archive" "$initramfs"
  rm -rf "$new"
}
