#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh WHAT [ARGUMENT...]
#
# Measures the program against others and leaves a table in build/bench. WHAT names a script beside this one.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# What there is: the script's name and what it measures.
benches='scan       scanning, sanitizing, a cold file, hostile texts: against PCRE2, Hyperscan, RE2, ripgrep, ICU, memcpy
    content    reading through the mount: against the native files, bindfs, libfuse passthrough_ll'

usage() {
	echo "usage: tests/bench/run.sh WHAT"
	echo
	echo "    $benches"
}

if [ $# -eq 0 ]; then
	usage
	exit 0
fi
what=$1
shift
while read -r name _; do
	if [ "$name" = "$what" ]; then
		exec "$here/$name.sh" "$@"
	fi
done <<<"$benches"
usage >&2
exit 2
