#!/usr/bin/env bash
# Builds a C library from Debian's sources twice, by clang as it is and with the plugin and all `for` loops marked, and runs the
# library's own tests on both: `try.sh LIBRARY PLUGIN FOLDER`. An unreachable source is reported, and is no failure.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
library=${1-} plugin=${2-} folder=${3-}

say() { printf '%s\n' "$*"; }

not_run() {
  say "not run: $*"
  exit 0
}

# Of each library: its source package, how it is configured, what is built, how its tests are run, and a word that begins the lines
# with their outcomes.
options=
case $library in
  zlib)
    package=zlib
    configure() { ./configure --static; }
    tests() { make test; }
    outcomes='\*\*\*'
    ;;
  libpng)
    package=libpng1.6
    configure() { ./configure --disable-shared --disable-dependency-tracking --disable-hardware-optimizations; }
    tests() { make check; }
    outcomes='(PASS|FAIL|ERROR): '
    # Its tests let floating-point exceptions stop them, which code may raise in vain without -ftrapping-math.
    options=-ftrapping-math
    ;;
  gsl)
    package=gsl
    # Debian leaves the manual's text out, so it cannot be built.
    configure() { ./configure --disable-shared --disable-dependency-tracking && sed -i '/^SUBDIRS = /s/ doc\b//' Makefile; }
    tests() { make -k check; }
    outcomes='(PASS|FAIL|ERROR): '
    ;;
  *)
    say "usage: try.sh zlib|libpng|gsl PLUGIN FOLDER" >&2
    exit 2
    ;;
esac

# Debian's index of sources, next to the system's own lists, which stay as they are.
apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$folder/apt/parts"
  -o "Dir::State::lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt/cache" -o APT::Sandbox::User=root)

fetch() {
  command -v apt-get >/dev/null && command -v dpkg-source >/dev/null || not_run 'it takes apt-get and dpkg-source'
  mkdir -p "$folder/apt/parts" "$folder/apt/lists/partial" "$folder/apt/cache"
  local suite
  suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  printf 'Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
    "$suite" /usr/share/keyrings/debian-archive-keyring.gpg >"$folder/apt/parts/debian.sources"
  "${apt[@]}" update || not_run "Debian's sources are out of reach"
  (cd "$folder/$library" && "${apt[@]}" source "$package" >/dev/null) || not_run "the sources of $package are out of reach"
}

# Builds a copy of the sources with a compiler, and runs its tests.
build() {
  local name=$1 source=$2
  shift 2
  rm -rf "${folder:?}/$library/$name"
  cp -r "$source" "$folder/$library/$name"
  cd "$folder/$library/$name"
  printf '#!/bin/sh\nexec clang-22 -w %s "$@"\n' "$*" >compiler
  chmod +x compiler
  say "$library, $name: configure, build, tests"
  export CC=$PWD/compiler CFLAGS="-O2 $options"
  configure >configure.log 2>&1 || not_run "$library cannot be configured here: $PWD/configure.log"
  make >make.log 2>&1 || { say "$library does not build: $PWD/make.log"; exit 1; }
  tests >tests.log 2>&1 || true
  grep -E "$outcomes" tests.log | sort >outcomes.log || true
  cd - >/dev/null
}

plugin=$(readlink -f "$plugin") && [ -e "$plugin" ] || { say "$plugin is missing: \`./x build\` makes it" >&2; exit 1; }
mkdir -p "$folder/$library"
folder=$(cd "$folder" && pwd)
source=$(find "$folder/$library" -maxdepth 1 -type d -name '*-[0-9]*')
if [ -z "$source" ]; then
  fetch
  source=$(find "$folder/$library" -maxdepth 1 -type d -name '*-[0-9]*')
fi
build plain "$source"
build marked "$source" -include "$here/mark.h" "-fpass-plugin=$plugin" -fsave-optimization-record

# The records of all files, remark by remark.
records() { find "$folder/$library/marked" -name '*.opt.yaml' -exec cat {} + | awk -v RS='--- ' '/Pass: +heddle/'; }
say "loops that became vector code: $(records | grep -c '^!Passed' || true)"
say "loops that were refused: $(records | grep -c '^!Missed' || true)"
plain=$folder/$library/plain/outcomes.log marked=$folder/$library/marked/outcomes.log
say "outcomes of its tests: $(wc -l <"$marked")"
[ -s "$plain" ] || { say "$library has run no test: $folder/$library/plain/tests.log"; exit 1; }
if ! diff "$plain" "$marked"; then
  say "$library does not do with the plugin what it does without (< without, > with)"
  exit 1
fi
say "$library does with the plugin what it does without"
