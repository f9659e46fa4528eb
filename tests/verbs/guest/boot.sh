# One run of a command in a guest. Sourced by tests/verbs/run.

# Longest time from QEMU's start to the command's; it takes ten seconds where nothing else runs.
boot_limit=300

qemu= helpers=() work= out_of_time=false
clean_up() {
  set +e
  trap - ERR
  trap '' INT TERM HUP
  [ -z "$qemu" ] || { kill "$qemu" && wait "$qemu"; }
  [ ${#helpers[@]} -eq 0 ] || kill "${helpers[@]}"
  [ -z "$work" ] || rm -rf "$work"
} 2>/dev/null

# What to run, as a second archive after the initramfs; and the folders that QEMU shares.
prepare_job() {
  local i
  mkdir -p "$work/root/job"
  shares=(-virtfs "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap")
  for i in "${!writable[@]}"; do
    printf %s "${writable[i]}" >"$work/root/job/writable$i"
    shares+=(-virtfs "local,path=${writable[i]//,/,,},mount_tag=writable$i,security_model=none,multidevs=remap")
  done
  printf 'kernel_modules=%q mtu=%q writable_count=%q\n' \
    "$kernel_folder/lib/modules" "$mtu" "${#writable[@]}" >"$work/root/job/settings"
  {
    export -p
    echo 'export VERBS_GUEST=1'
    printf 'cd %q || exit 125\nexec --' "$PWD"
    printf ' %q' "$@"
    echo
  } >"$work/root/job/command"
  archive "$work/root" | cat "$initramfs" - >"$work/initramfs"
}

# A virtual serial port of the guest that ends in a file of the same name.
serial_port() {
  printf '%s\n' -chardev "file,id=$1,path=$work/$1" \
    -device "virtserialport,chardev=$1,name=guest.$1"
}

# Processors and memory on two sockets, if they can be halved.
prepare_sockets() {
  local half=$((processors / 2)) socket
  machine=(-smp "$processors" -m "$memory")
  [ $((processors % 2)) -eq 0 ] || return 0
  machine=(-smp "$processors,sockets=2,cores=$half" -m "$((memory / 2 * 2))")
  for socket in 0 1; do
    machine+=(-object "memory-backend-ram,id=memory$socket,size=$((memory / 2))M" -numa
      "node,nodeid=$socket,cpus=$((socket * half))-$((socket * half + half - 1)),memdev=memory$socket")
  done
}

# A panic or an oops ends the guest at once (oops=panic panic=-1 -no-reboot). Programs take a quarter
# less time than on -cpu max: wide vectors cost more than they save where they are emulated. timeout is
# here to end a QEMU that does not end when told.
start_qemu() {
  local kernel_words="console=ttyS0 loglevel=4 panic=-1 oops=panic mitigations=off nokaslr"
  kernel_words+=" tsc=reliable no_timer_check random.trust_cpu=on"
  ! $verbose || kernel_words+=" ignore_loglevel"
  local ports=()
  mapfile -t ports < <(serial_port out; serial_port err; serial_port status)
  timeout -k 5 0 qemu-system-x86_64 \
    -accel tcg,thread=multi,tb-size=512 -machine q35 -cpu Nehalem,+rdrand "${machine[@]}" \
    -nodefaults -no-user-config -display none -no-reboot \
    -kernel "$kernel_folder/vmlinux" -initrd "$work/initramfs" -append "$kernel_words" \
    "${shares[@]}" -device virtio-serial-pci "${ports[@]}" \
    -chardev "file,id=console,path=$work/console,append=on" -serial chardev:console \
    </dev/null >"$work/qemu" 2>&1 &
  qemu=$!
}

# Ends when the guest has not started the command in time, or the command has run for too long. The
# host's clock counts: the guest's follows the processor's counter, which can leap (a CI machine's
# did, by minutes) where the host's does not.
keep_time() {
  local end=$((SECONDS + boot_limit))
  until [ -s "$work/status" ]; do
    [ "$SECONDS" -lt "$end" ] || return 0
    sleep 0.2
  done
  exec sleep "$limit"
}

# Waits until QEMU ends. We end it when the time is over, and when the reader of our standard output
# has stopped reading.
wait_for_qemu() {
  local ended= result=0
  wait -n -p ended "$qemu" "${helpers[0]}" "${helpers[2]}" || result=$?
  if [ "$ended" = "${helpers[2]}" ]; then
    if [ -s "$work/status" ]; then
      out_of_time=true
    else
      say "the guest has not started the command for $boot_limit seconds"
    fi
    kill "$qemu" || true   # it may just have ended
  fi
  if [ "$ended" = "${helpers[0]}" ] && [ "$result" -ne 0 ]; then exit "$result"; fi
  wait "$qemu" || true
}

# Makes one attempt and sets status. It is the command's exit status, "started" when the guest died
# after the command began, "failed" when it could not make the devices, and nothing when it died
# before.
boot() {
  rm -f "$work/out" "$work/err" "$work/status"
  mkfifo "$work/out" "$work/err"
  cat "$work/out" & helpers=($!)
  cat "$work/err" >&2 & helpers+=($!)
  keep_time >/dev/null 2>&1 & helpers+=($!)
  : >"$work/console"
  if $verbose; then tail -f -n +1 --pid=$$ "$work/console" >&2 & helpers+=($!); fi
  start_qemu
  wait_for_qemu
  qemu=
  status=$(tail -n 1 "$work/status" 2>/dev/null || true)
  [ "$status" != started ] || ! $out_of_time || status=124
  # The last of the output, if there was a guest to give some.
  [ -z "$status" ] || wait "${helpers[0]}" "${helpers[1]}" || true
  kill "${helpers[@]}" 2>/dev/null || true
  helpers=()
}

report_death() {
  cat "$work/qemu" >&2
  $verbose || tail -n 120 "$work/console" >&2
  case $status in
    started) fail "the guest died while the command ran" ;;
    failed) fail "the guest could not make its RDMA devices" ;;
    *) fail "the guest did not start" ;;
  esac
}

# run_in_guest COMMAND ARGUMENT...: ends with its exit status.
run_in_guest() {
  local attempt
  work=$(mktemp -d "${TMPDIR:-/tmp}/verbs-guest.XXXXXX")
  trap clean_up EXIT
  trap 'say "interrupted"; exit 130' INT
  trap 'say "told to end by a signal"; exit 143' TERM HUP
  prepare_job "$@"
  prepare_sockets
  # QEMU before 8.1 may lose, very rarely, one virtual processor's change of code that another is
  # just translating; the guest's kernel, which patches itself while it starts, then dies. The
  # command has not begun by then: start again.
  for attempt in 1 2 3; do
    boot
    [ -z "$status" ] || break
    say "the guest did not get as far as the command (attempt $attempt of 3)"
  done
  [[ $status =~ ^[0-9]+$ ]] || report_death
  grep -a '^verbs guest: ' "$work/console" >&2 || true # what our own scripts complain of
  [ "$status" -ne 124 ] || say "the command ran out of its $limit seconds, or itself returned 124"
  exit "$status"
}
