# Shared by tools/build, tools/demo and tools/test: messages, logged steps, job counts.
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
    sed -n '/^FAILED: /,$p' "$1" | head -n 40
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

# The presets' names, from the one place that defines them.
preset_names() {
  sed -n '/"configurePresets"/,/"buildPresets"/s/^ *"name": "\([a-z]*\)",$/\1/p' CMakePresets.json |
    grep -v '^base$' | tr '\n' ' '
}

check_preset() {
  case " $(preset_names)" in
    *" $1 "*) ;;
    *) die "no preset named '$1'; there are: $(preset_names)" ;;
  esac
}

# build_preset PRESET: configures and builds, with ninja's progress line on a terminal.
build_preset() {
  local preset=$1 jobs=${RONDO_JOBS:-$(jobs_that_fit)}
  say "configuring preset $preset in build/$preset"
  logged "configure-$preset" cmake --preset "$preset"
  say "building preset $preset, $jobs compilers at once"
  local build=(cmake --build --preset "$preset" --parallel "$jobs")
  if [ -t 1 ]; then
    "${build[@]}" || die "step 'build $preset' failed; the first error stands above"
  else
    logged "build-$preset" "${build[@]}"
  fi
}
