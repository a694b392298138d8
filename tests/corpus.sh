#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# corpus.sh [--update] DIR
# corpus.sh --if-there
#
# Precision and recall on the labelled skills in DIR (benign/, malicious/labels.jsonl), as tables. Fails
# with 1 when a figure is worse than in tests/corpus/baseline.txt, or, for a corpus that is not in there, beyond the fixed
# limits; with 2 when it can't be read. --update writes the figures of DIR into the baseline. --if-there takes
# $SKILLFS_CORPUS and is content when that is empty. $CORPUS_MEASURE names the program; without it one is
# built, and what that needs is installed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
	echo "usage: tests/corpus.sh [--update] DIR | --if-there" >&2
	exit 2
}

update=()
case ${1:-} in
--update)
	update=(--update)
	shift
	;;
--if-there)
	[ $# -eq 1 ] || usage
	if [ -z "${SKILLFS_CORPUS:-}" ]; then
		echo "no corpus: SKILLFS_CORPUS is empty"
		exit 0
	fi
	# Root's folders may be closed to an ordinary user; for root a missing one is a mistake.
	if [ ! -r "$SKILLFS_CORPUS/benign" ] && [ "$(id -u)" -ne 0 ]; then
		echo "no corpus: $SKILLFS_CORPUS is closed to this user"
		exit 0
	fi
	shift
	set -- "$SKILLFS_CORPUS"
	;;
esac
if [ $# -ne 1 ] || [ ! -d "$1/benign" ]; then
	[ $# -ne 1 ] || echo "corpus.sh: $1: no folder with benign/ in it" >&2
	usage
fi
dir=$(cd "$1" && pwd)

measure=${CORPUS_MEASURE:-}
if [ -z "$measure" ]; then
	. "$root/mount-helpers/packages.sh"
	packages_install build test >&2 || exit 2
	cd "$root"
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	if ! { cmake --preset dev && cmake --build --preset dev --target corpus-measure; } >"$log" 2>&1; then
		cat "$log" >&2
		exit 2
	fi
	measure=$root/build/dev/bin/corpus-measure
fi
"$measure" --baseline "$root/tests/corpus/baseline.txt" "${update[@]}" "$dir"
