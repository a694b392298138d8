#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [NAME...] [-- LIBFUZZER_ARGUMENT...]
#
# Builds the harnesses with clang into build/fuzz (installs what is missing) and fuzzes with each, or those
# named, for SECONDS_EACH seconds (60), one after the other. Begins with corpus/NAME; what is found new stays in
# build/fuzz/work/NAME for the next run and for minimise.sh. Prints a table, and fails when a
# harness found something: the input is kept and the command that replays it is printed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
seconds=${SECONDS_EACH:-60}
. "$root/mount-helpers/packages.sh"

names=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	if [ ! -f "$here/fuzz_$1.c" ]; then
		echo "run.sh: no harness '$1'; there are: $(cd "$here" && echo fuzz_*.c | sed 's/fuzz_\([a-z_]*\)\.c/\1/g')" >&2
		exit 2
	fi
	names+=("$1")
	shift
done
[ $# -eq 0 ] || shift
if [ ${#names[@]} -eq 0 ]; then
	for source in "$here"/fuzz_*.c; do
		name=${source##*/fuzz_}
		names+=("${name%.c}")
	done
fi

packages_install build test fuzz
cd "$root"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake --preset fuzz && cmake --build --preset fuzz; } >"$log" 2>&1; then
	cat "$log"
	exit 1
fi

progress() { # TEXT
	if [ -t 2 ]; then
		printf '\r\033[K%s' "$1" >&2
	fi
}

# One number from libFuzzer's final statistics.
statistic() { # NAME
	awk -v name="stat::$1:" '$1 == name { value = $2 } END { print value == "" ? "-" : value }' "$log"
}

build=$root/build/fuzz
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
failed=()
printf '%-14s %10s %8s %8s  %s\n' harness runs/s new edges result
for name in "${names[@]}"; do
	progress "$name: $seconds s"
	work=$build/work/$name
	found=$build/found/$name
	mkdir -p "$work" "$found" "$here/corpus/$name"
	code=0
	"$build/bin/fuzz_$name" -max_total_time="$seconds" -max_len=2048 -timeout=20 -rss_limit_mb=2048 \
		-dict="$here/$name.dict" -artifact_prefix="$found/" -print_final_stats=1 "$@" \
		"$work" "$here/corpus/$name" </dev/null >"$log" 2>&1 || code=$?
	progress ''
	result=good
	if [ "$code" -ne 0 ]; then
		result="FAILED ($code)"
		failed+=("$name")
	fi
	edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
	printf '%-14s %10s %8s %8s  %s\n' "$name" "$(statistic average_exec_per_sec)" "$(statistic new_units_added)" \
		"${edges:--}" "$result"
	if [ "$code" -ne 0 ]; then
		grep -E '^(broken property|SUMMARY|==[0-9]+==ERROR|.*runtime error)' "$log" | sed 's/^/    /' || tail -n 20 "$log"
		input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
		if [ -n "$input" ]; then
			echo "    replay: $build/bin/fuzz_$name $input"
		else
			tail -n 20 "$log"
		fi
	fi
done
[ ${#failed[@]} -eq 0 ]
