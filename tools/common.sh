# Shared by tools/build, tools/demo and tools/test: messages, logged steps, builds, job counts.
# Sourced, never run; leaves the shell in the repository's root.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

script="tools/$(basename "$0")"

say() { printf '== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "$script" "$*" >&2
  exit 1
}

# Prints the caller's header comment, which is its --help.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# The lines of a failed step's log that matter: from a build's first failure on, else the end.
telling_part() {
  if grep -q '^FAILED: ' "$1"; then
    sed -n '/^FAILED: /,$p' "$1" | sed -n '1,40p'
  else
    tail -n 40 "$1"
  fi
}

# logged NAME COMMAND...: runs quietly into build/logs/NAME.log; shows what matters when it fails.
logged() {
  local name=$1 log="build/logs/$1.log"
  shift
  mkdir -p build/logs
  if ! "$@" >"$log" 2>&1 </dev/null; then
    telling_part "$log" >&2
    die "step '$name' failed: $* (whole log: $log)"
  fi
}

# As many compilers at once as cores, and as 1.5 GB of free memory each allow.
jobs_that_fit() {
  local by_memory
  by_memory=$(awk '/^MemAvailable:/ { print int($2 / 1500000) }' /proc/meminfo)
  local cores
  cores=$(nproc)
  local jobs=$((by_memory < cores ? by_memory : cores))
  echo $((jobs > 0 ? jobs : 1))
}

# The presets' names, from the one place that defines them; hidden ones are not for people.
preset_names() {
  sed -n '/"configurePresets"/,/"buildPresets"/p' CMakePresets.json |
    awk '$1 == "\"name\":" { gsub(/[",]/, "", $2); name = $2; next }
         name { if ($1 != "\"hidden\":") printf "%s ", name; name = "" }'
}

check_preset() {
  case " $(preset_names)" in
    *" $1 "*) ;;
    *) die "no preset named '$1'; there are: $(preset_names)" ;;
  esac
}

# configure PRESET [CMAKE ARGUMENT...]: in build/PRESET.
configure() {
  local preset=$1
  shift
  say "configuring preset $preset in build/$preset"
  logged "configure-$preset" cmake --preset "$preset" "$@"
}

# with_progress LOG COMMAND...: runs it into LOG and says every 15 s how far ninja is.
with_progress() {
  local log=$1 status=0 seen='' now
  shift
  mkdir -p build/logs
  "$@" >"$log" 2>&1 </dev/null &
  local pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    for _ in {1..75}; do
      sleep 0.2
      kill -0 "$pid" 2>/dev/null || break
    done
    now=$(grep -o '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 1) || true
    [ "$now" = "$seen" ] || say "  $now after $SECONDS s"
    seen=$now
  done
  wait "$pid" || status=$?
  return "$status"
}

# build_preset PRESET [TARGET...]: builds what is configured, with ninja's own progress line on a
# terminal and one line every 15 s elsewhere.
build_preset() {
  local preset=$1 jobs=${RONDO_JOBS:-$(jobs_that_fit)}
  shift
  say "building preset $preset${1:+ ($*)}, $jobs compilers at once"
  local log=build/logs/build-$preset.log
  local build=(cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"})
  if [ -t 1 ]; then
    "${build[@]}" || die "step 'build $preset' failed; the first error stands above"
  elif ! with_progress "$log" "${build[@]}"; then
    telling_part "$log" >&2
    die "step 'build $preset' failed (whole log: $log)"
  fi
}
