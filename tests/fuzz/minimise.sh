#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# minimise.sh [NAME...]
#
# Makes corpus/NAME anew: what seeds.py keeps, and of the present corpus, of tests/data and of the working corpus
# below build/fuzz what reaches more. At most 150 files and 200 KB, for they are replayed in the ordinary test
# run. Wants the binaries of a run of run.sh, and no fuzzer that runs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "$here/../.." && pwd)/build/fuzz
files_max=150
bytes_max=200000

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
	for source in "$here"/fuzz_*.c; do
		name=${source##*/fuzz_}
		names+=("${name%.c}")
	done
fi

new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
for name in "${names[@]}"; do
	corpus=$here/corpus/$name
	mkdir -p "$corpus" "$build/work/$name" "$new/merged" "$new/corpus"
	"$here/seeds.py" "$name" "$new/seeds"
	cp "$new"/seeds/kept/* "$new/corpus/"
	cp "$new"/seeds/kept/* "$new/merged/"
	# By edges alone: how often each is taken would keep ten times as many.
	"$build/bin/fuzz_$name" -merge=1 -use_counters=0 -max_len=2048 "$new/merged" "$corpus" "$new/seeds/more" \
		"$build/work/$name" >"$new/log" 2>&1 || { tail -n 20 "$new/log" >&2 && exit 1; }
	count=$(find "$new/corpus" -type f | wc -l)
	bytes=$(find "$new/corpus" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum + 0 }')
	# A merge begins with the smallest, so that the largest of what it adds reach most by themselves.
	while read -r size file; do
		if [ "$count" -lt "$files_max" ] && [ $((bytes + size)) -le "$bytes_max" ] &&
			[ ! -e "$new/corpus/${file##*/}" ]; then
			cp "$file" "$new/corpus/"
			count=$((count + 1))
			bytes=$((bytes + size))
		fi
	done < <(find "$new/merged" -type f -printf '%s %p\n' | sort -rn)
	rm -rf "$corpus"
	mv "$new/corpus" "$corpus"
	rm -rf "$new/seeds" "$new/merged"
	echo "$name: $count files, $bytes bytes"
done
