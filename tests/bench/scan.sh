#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scan.sh [--own-corpus]
#
# Builds the bench in build/bench, runs it on one core over the Markdown files of $SKILLFS_CORPUS/benign (by default
# ../shared/corpus beside the project; --own-corpus, or none there: over texts that it makes) and leaves the
# table in build/bench/scan.md. What can't be installed is left out of it. A goal that is missed is no failure; 1 when the
# fast ways do not find what the plain ones do, 2 when it can't run.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/mount-helpers/packages.sh"
cd "$root"

corpus=${SKILLFS_CORPUS:-$root/../shared/corpus}
case ${1:-} in
'') ;;
--own-corpus) corpus= ;;
*)
	echo "usage: tests/bench/run.sh scan [--own-corpus]" >&2
	exit 2
	;;
esac
texts=()
if [ -n "$corpus" ] && [ -d "$corpus/benign" ]; then
	texts=("$corpus/benign")
fi

packages_install build || exit 2
for group in bench-hyperscan bench-re2 bench-icu bench-ripgrep; do
	packages_install "$group" >&2 || echo "bench: ${group#bench-} can't be had here: left out" >&2
done

build=$root/build/bench
mkdir -p "$build"
if ! { cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSKILLFS_TESTS=OFF -DSKILLFS_BENCH=ON &&
	cmake --build "$build" -j "$(nproc)" --target bench-scan; } >"$build/build.log" 2>&1; then
	cat "$build/build.log" >&2
	exit 2
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/skillfs-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

version() { # NAME PACKAGE COMMAND...: of the package, where there is dpkg, else what the command says
	local name=$1 package=$2 version
	shift 2
	version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null) || version=$("$@" 2>/dev/null | head -n 1) || true
	echo "$name ${version:-none}"
}

header() {
	echo "# Bench: scan"
	echo
	echo "$(date -u '+%Y-%m-%d %H:%M') UTC, commit $(git describe --always --dirty 2>/dev/null || echo unknown)," \
		"$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg)"
	echo
	{
		gcc --version | head -n 1
		version PCRE2 libpcre2-dev pkg-config --modversion libpcre2-8
		version libunistring libunistring-dev false
		version Hyperscan libhyperscan-dev pkg-config --modversion libhs
		version RE2 libre2-dev pkg-config --modversion re2
		version ICU libicu-dev pkg-config --modversion icu-uc
		version ripgrep ripgrep rg --version
		version xxHash libxxhash-dev pkg-config --modversion libxxhash
	} | paste -sd , - | sed 's/,/, /g'
	echo
}

# On the last core that we may use; the first often serves interrupts.
core=$(awk '/^Cpus_allowed_list/ { n = split($2, part, /[-,]/); print part[n] }' /proc/self/status)
status=0
rm -f "$build/scan.md" # of an earlier run
header >"$work/scan.md"
taskset -c "$core" "$build/bin/bench-scan" "$work" "${texts[@]}" >>"$work/scan.md" || status=$?
if [ "$status" -ne 0 ]; then
	echo "bench: no table (exit code $status)" >&2
	exit "$status"
fi
cp "$work/scan.md" "$build/scan.md"
cat "$build/scan.md"
echo "The table is in ${build#"$root"/}/scan.md"
