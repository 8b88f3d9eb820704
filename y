#!/usr/bin/env bash
# The developers' one door; `./x` alone lists the verbs.
set -euo pipefail

# What a build needs, as Debian packages: the name of a `has_…` check below, then the packages that satisfy it.
debian_packages=(
  'linker gcc libc6-dev'
  'rust rustc-web cargo-web ca-certificates'
)

# Minutes that `./x test` gives to the fuzzer, all topics together; 0 runs no slice.
ci_fuzz_minutes=0
ci_fuzz_seed=1

mutants_version=27.1.0

caller_dir=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"

# Cargo reads a relative target directory from where it runs; the caller meant theirs.
target_dir=${CARGO_TARGET_DIR:-$PWD/target}
case $target_dir in
  /*) ;;
  *) target_dir=$caller_dir/$target_dir ;;
esac
export CARGO_TARGET_DIR=$target_dir

# On a CI machine a Cargo.lock that is out of date is an error, not an edit.
locked=()
[ -z "${CI:-}" ] || locked=(--locked)

help() {
  cat <<'END'
usage: ./x VERB

  setup                          bring what a build needs: a C linker and Rust (Debian packages; root or sudo)
  build                          build everything; release artifacts land in target/release
  test                           build, all tests, lint, a slice of fuzzing: what CI runs
  lint                           formatting, clippy, documentation
  demo                           a short tour in the terminal
  bench [NAME]                   run a benchmark and judge its aims; without NAME list them (output: target/bench)
  fuzz [TOPIC] --minutes N --seed S
                                 generate programs and check them against the oracle
  bless                          run the tests and rewrite their goldens; review the diff
  mutants [CRATE] [--sample N]   break heddle-analysis and heddle-transform (or CRATE) on purpose, about N times each,
                                 and count what the tests notice
  help                           this list
END
}

say() { printf 'x: %s\n' "$*" >&2; }

fail() {
  say "$@"
  exit 1
}

misused() {
  say "$@"
  help >&2
  exit 2
}

no_arguments() {
  local verb=$1
  shift
  [ $# -eq 0 ] || misused "\`$verb\` takes no arguments, found \`$*\`"
}

# --- what is missing, and bringing it ---

has_linker() {
  command -v cc >/dev/null || return 1
  # A compiler without the C library's start files cannot link.
  [ "$(uname -s)" != Linux ] || [ -e "$(cc -print-file-name=crt1.o)" ]
}

rust_needed() { sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml; }

is_new_enough() {
  local rustc=$1 version
  version=$("$rustc" --version 2>/dev/null) || return 1
  version=${version#rustc }
  version=${version%%[ -]*}
  printf '%s\n' "$(rust_needed)" "$version" | sort -V -C
}

# The first Rust that is new enough, wherever it lives, comes first on PATH: an old one may stand before it there.
has_rust() {
  local dir
  if command -v cargo >/dev/null && command -v rustc >/dev/null && is_new_enough rustc; then
    return 0
  fi
  for dir in "${CARGO_HOME:-${HOME:-}/.cargo}/bin" /usr/local/bin /usr/bin; do
    if [ -x "$dir/cargo" ] && [ -x "$dir/rustc" ] && PATH=$dir:$PATH is_new_enough "$dir/rustc"; then
      PATH=$dir:$PATH
      return 0
    fi
  done
  return 1
}

install_packages() {
  local as_root=()
  if ! command -v apt-get >/dev/null; then
    say "missing here, and there is no apt-get to bring it: what Debian calls $*"
    fail "a C compiler is enough beside Rust $(rust_needed) or newer, which https://rustup.rs installs"
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      say 'packages are missing, and only root may install them; as root, run:'
      echo "apt-get update && apt-get install --no-install-recommends $*" >&2
      exit 1
    fi
    as_root=(sudo -n)
  fi
  say "installing $*"
  # A stale package list is no reason to stop: the packages may be in it all the same.
  "${as_root[@]}" apt-get update -qq </dev/null || say 'apt-get update failed; trying with the list at hand'
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "$@" </dev/null >&2
}

setup() {
  local line need packages missing=()
  for line in "${debian_packages[@]}"; do
    read -r need packages <<<"$line"
    # shellcheck disable=SC2206  # the packages of one line are separate words
    "has_$need" || missing+=($packages)
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  install_packages "${missing[@]}" || fail "apt-get could not install ${missing[*]}"
  hash -r
  has_linker || fail 'still no working C linker: "cc" here is something else'
  has_rust || fail "Debian's Rust here is older than $(rust_needed); get a newer one from https://rustup.rs"
}

# --- the verbs ---

build() { cargo build --release --workspace "${locked[@]}"; }

# Runs a binary of the workspace: `tool PACKAGE BIN ARGUMENT…`. Cargo talks only while a first build takes its time.
tool() {
  local package=$1 bin=$2 quiet=()
  shift 2
  [ ! -e "$target_dir/release/$bin" ] || quiet=(-q)
  cargo run --release "${quiet[@]}" "${locked[@]}" -p "$package" --bin "$bin" -- "$@"
}

lint() {
  if cargo fmt --version >/dev/null 2>&1; then
    cargo fmt --all --check
  else
    say 'lint: formatting NOT checked, rustfmt is missing' \
      '(rustup component add rustfmt; Debian: apt-get install rustfmt-web)'
  fi
  if cargo clippy --version >/dev/null 2>&1; then
    cargo clippy --release --workspace --all-targets "${locked[@]}" -- -D warnings
  else
    say 'lint: clippy NOT run, it is missing' \
      '(rustup component add clippy; Debian: apt-get install rust-web-clippy)'
  fi
  RUSTDOCFLAGS='-D warnings' cargo doc --release --no-deps --workspace "${locked[@]}"
}

test_everything() {
  build
  cargo test --release --workspace --no-fail-fast "${locked[@]}"
  lint
  if [ "$ci_fuzz_minutes" != 0 ]; then
    fuzz --minutes "$ci_fuzz_minutes" --seed "$ci_fuzz_seed"
  else
    say 'fuzz: no slice (ci_fuzz_minutes is 0)'
  fi
  say 'test: all passed'
}

demo() { tool heddle-cli heddle demo "$@"; }

fuzz() { tool heddle-testing fuzz "$@"; }

bench() {
  mkdir -p "$target_dir/bench"
  if [ $# -eq 0 ]; then
    tool heddle-testing bench
  else
    tool heddle-testing bench "$@" | tee "$target_dir/bench/$1.txt"
  fi
}

bless() {
  local status=0
  HEDDLE_BLESS=1 cargo test --release --workspace --test '*' --no-fail-fast "${locked[@]}" || status=$?
  git status --short
  say 'bless: review what changed with: git diff'
  return "$status"
}

# Sampling deals the mutants round into shards of about N and tries the first shard: spread over the whole crate, and
# the same N names the same mutants.
mutants() {
  local crates=() sample='' crate total shards
  while [ $# -gt 0 ]; do
    case $1 in
      --sample)
        sample=${2:-}
        [[ $sample =~ ^[1-9][0-9]*$ ]] || misused '--sample takes a number above 0'
        shift
        ;;
      -*) misused "\`mutants\` does not know \`$1\`" ;;
      *) crates+=("heddle-${1#heddle-}") ;;
    esac
    shift
  done
  [ ${#crates[@]} -gt 0 ] || crates=(heddle-analysis heddle-transform)

  [ -x "$target_dir/tools/bin/cargo-mutants" ] ||
    cargo install "cargo-mutants@$mutants_version" --locked --root "$target_dir/tools"
  PATH=$target_dir/tools/bin:$PATH

  for crate in "${crates[@]}"; do
    local out=$target_dir/mutants/$crate selection=(--package "$crate") status=0
    total=$(cargo mutants "${selection[@]}" --list | wc -l)
    if [ "$total" -eq 0 ]; then
      say "mutants: nothing to mutate in $crate"
      continue
    fi
    if [ -n "$sample" ]; then
      shards=$(((total + sample - 1) / sample))
      selection+=(--sharding round-robin --shard "0/$shards")
    fi
    rm -rf "$out"
    mkdir -p "$out"
    # Much of what a pass must do is written down as file tests, and those run in heddle-testing. The mutated copy
    # builds into a directory of its own.
    env -u CARGO_TARGET_DIR cargo mutants "${selection[@]}" --test-package "$crate,heddle-testing" --output "$out" || status=$?
    # 2: some were missed; 3: some ran into the time limit. Both are findings, not failures of the run.
    case $status in
      0 | 2 | 3) mutants_summary "$crate" "$total" "$out/mutants.out" ;;
      *) fail "cargo mutants failed on $crate (exit code $status); its log: $out/mutants.out" ;;
    esac
  done
}

mutants_summary() {
  local crate=$1 total=$2 out=$3 caught missed timeout unviable
  caught=$(wc -l <"$out/caught.txt")
  missed=$(wc -l <"$out/missed.txt")
  timeout=$(wc -l <"$out/timeout.txt")
  unviable=$(wc -l <"$out/unviable.txt")
  echo "$crate: $caught caught, $missed missed, $timeout timed out, $unviable do not compile, of $total possible"
  [ "$missed" -eq 0 ] || sed 's/^/  missed: /' "$out/missed.txt"
  awk -v name="mutants-$crate" -v killed=$((caught + timeout)) -v missed="$missed" 'BEGIN {
    if (killed + missed == 0) exit
    share = 100 * killed / (killed + missed)
    verdict = (share >= 90) ? "ok" : "missed"
    printf("aim %s: %.1f %% (>= 90 %%) %s\n", name, share, verdict)
  }'
}

verb=${1:-help}
[ $# -eq 0 ] || shift
case $verb in
  setup | build | test | lint | bless) no_arguments "$verb" "$@" ;;
esac
case $verb in
  help | -h | --help) help ;;
  setup) setup ;;
  test)
    setup
    test_everything
    ;;
  build | lint | demo | bench | fuzz | bless | mutants)
    setup
    "$verb" "$@"
    ;;
  *) misused "there is no verb \`$verb\`" ;;
esac
