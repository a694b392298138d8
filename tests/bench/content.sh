#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# content.sh [--workers-only | --table-only] [TURNS]
#
# What reading skills through the mount costs: native, skillfs, bindfs and libfuse's passthrough_ll over the same files, in
# turns (7, or as many as are asked for), median of them. CPU time counts, of the client and the daemons together; wall
# time stands beside it. The table is left in build/bench/content.md. What can't be had here is left out. SKILLFS=PATH measures
# another build. A goal that is missed is no failure; 2 when it can't run. Needs 1.5 GB in $TMPDIR.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/mount-helpers/packages.sh"
cd "$root"

sections="table workers" turns=7
for argument in "$@"; do
	case $argument in
	--workers-only) sections=workers ;;
	--table-only) sections=table ;;
	[1-9] | [1-9][0-9]) turns=$argument ;;
	*)
		echo "usage: tests/bench/run.sh content [--workers-only | --table-only] [TURNS]" >&2
		exit 2
		;;
	esac
done

packages_install build run || exit 2
packages_install bench-bindfs >&2 || echo "bench: bindfs can't be had here: left out" >&2

build=$root/build/bench
mkdir -p "$build"
if ! { cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSKILLFS_TESTS=OFF -DSKILLFS_BENCH=ON &&
	cmake --build "$build" -j "$(nproc)" --target bench-content skillfs; } >"$build/build.log" 2>&1; then
	cat "$build/build.log" >&2
	exit 2
fi
client=$build/bin/bench-content
skillfs=${SKILLFS:-$build/bin/skillfs}

# --- what is compared ---

columns=(native skillfs)
if command -v bindfs >/dev/null; then
	columns+=(bindfs)
fi
example=/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c
if [ -f "$example" ]; then
	# shellcheck disable=SC2046
	gcc -O2 -w -o "$build/bin/passthrough_ll" "$example" $(pkg-config --cflags --libs fuse3)
	# As it comes, and with what it can keep in the kernel for a day, changed or not.
	columns+=(passthrough passthrough-always)
else
	echo "bench: no $example here: passthrough is left out" >&2
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/skillfs-bench.XXXXXX")
work=$(realpath "$work")
mkdir "$work/source" "$work/home" "$work/run" "$work/state"
chmod 700 "$work/run" "$work/state"
declare -A daemons=() # column: the process behind its mount

view() { # COLUMN: where it is mounted
	if [ "$1" = native ]; then echo "$work/source"; else echo "$work/view-$1"; fi
}

is_mounted() {
	grep -qF " $1 " /proc/self/mountinfo
}

family() { # PID: it and all its descendants
	local child
	echo "$1"
	while read -r child; do
		family "$child"
	done < <(cat "/proc/$1/task/"*/children 2>/dev/null | tr ' ' '\n')
}

start() { # COLUMN SOURCE
	local column=$1 source=$2 point pid
	point=$(view "$column")
	[ "$column" != native ] || return 0
	mkdir -p "$point"
	case $column in
	skillfs)
		env HOME="$work/home" XDG_RUNTIME_DIR="$work/run" XDG_STATE_HOME="$work/state" "$skillfs" mount -f \
			-c "$work/bench.yaml" -o "state=$work/state" "$source" "$point" >"$work/skillfs.log" 2>&1 &
		;;
	bindfs) bindfs -f "$source" "$point" 2>"$work/bindfs.log" & ;;
	passthrough) "$build/bin/passthrough_ll" -f -o "source=$source,xattr" "$point" 2>"$work/$column.log" & ;;
	passthrough-always) "$build/bin/passthrough_ll" -f -o "source=$source,xattr,cache=always" "$point" 2>"$work/$column.log" & ;;
	esac
	pid=$!
	daemons[$column]=$pid
	for _ in $(seq 500); do
		if is_mounted "$point" && stat "$point" >/dev/null 2>&1; then
			return 0
		fi
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.01
	done
	echo "bench: $column did not mount" >&2
	cat "$work/$column.log" >&2 2>/dev/null || true
	return 1
}

stop() { # COLUMN
	local point first=${daemons[$1]:-}
	[ -n "$first" ] || return 0
	point=$(view "$1")
	! is_mounted "$point" || umount "$point" 2>/dev/null || fusermount3 -u "$point" 2>/dev/null ||
		fusermount3 -uz "$point" || umount -l "$point" || true
	for _ in $(seq 500); do
		kill -0 "$first" 2>/dev/null || break
		sleep 0.01
	done
	! kill -0 "$first" 2>/dev/null || kill -9 "$first" || true
	wait "$first" 2>/dev/null || true
	daemons[$1]=
}

clean() {
	local column
	trap '' INT TERM
	for column in "${columns[@]}"; do
		stop "$column"
	done
	rm -rf --one-file-system "$work"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cat >"$work/bench.yaml" <<-'YAML'
	mount:
	  maxFileSize: 300M
	  spoolSize: 512M
	  scanTimeMs: 60000
YAML

# --- the table ---

# name | what it is | goal, as a multiple of native ("bindfs 3": of bindfs) | ahead: of bindfs and passthrough
row_table='
open-read-close|open, read, close 10 KB|1.3|ahead
random-read|random 4 KB read|1.5|ahead
stat|stat|1.2|ahead
missing|stat of a name that is not there|1.2|ahead
list|ls -l of a listed folder (readdir and stat)|1.8|ahead
list-attributes|ls -l with the attributes coreutils asks for|-|ahead
getxattr|getxattr|5|ahead
large-cached|256 MiB, cached|1.1|ahead
large-first|256 MiB, first pass|5|-
cold|find and read of 2,000 files, cold daemon|bindfs 3|-
cold-large|find and read of 256 MiB, cold daemon|bindfs 3|-
'

turn() { # ROW COLUMN ROOT
	local figures
	local pids=()
	if [ -n "${daemons[$2]:-}" ]; then
		mapfile -t pids < <(family "${daemons[$2]}")
	fi
	figures=$("$client" row "$1" "$3" "${pids[@]}") || {
		echo "bench: $1 over $2 failed" >&2
		exit 2
	}
	printf '%s\t%s\t%s\n' "${4:-$1}" "$2" "$figures" >>"$work/figures"
}

measure_warm() {
	local row column i
	for column in "${columns[@]}"; do
		start "$column" "$work/source"
		"$client" row open-read-close "$(view "$column")" >/dev/null
		"$client" row large-cached "$(view "$column")" >/dev/null
	done
	while IFS='|' read -r row _; do
		case $row in '' | cold*) continue ;; esac
		for ((i = 0; i < turns; i++)); do
			for column in "${columns[@]}"; do
				turn "$row" "$column" "$(view "$column")"
			done
		done
	done <<<"$row_table"
	for column in "${columns[@]}"; do
		stop "$column"
	done
}

measure_cold() { # ROW FOLDER-OF-THE-SOURCE
	local column i
	for ((i = 0; i < turns; i++)); do
		for column in "${columns[@]}"; do
			if [ "$column" = native ]; then
				turn cold native "$work/source/$2" "$1"
				continue
			fi
			start "$column" "$work/source/$2"
			turn cold "$column" "$(view "$column")" "$1"
			stop "$column"
		done
	done
}

# Medians, ratios, goals. Reads the rows, then the figures.
print_table() {
	awk -F '\t' -v columns="${columns[*]}" -v core_count="$(nproc)" '
	function median(list, n, i, j, swap, part) {
		n = split(list, part, " ")
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && part[j - 1] + 0 > part[j] + 0; j--) {
				swap = part[j]; part[j] = part[j - 1]; part[j - 1] = swap
			}
		return part[int(n / 2) + 1] + 0
	}
	function show(ns) {
		return ns >= 1e6 ? sprintf("%.1f ms", ns / 1e6) : sprintf("%.2f us", ns / 1e3)
	}
	function ratio(kind, row, column, base) {
		return value[kind, row, base] > 0 ? value[kind, row, column] / value[kind, row, base] : 0
	}
	function table(kind, i, c, line) {
		line = "| |"
		for (c = 1; c <= column_count; c++)
			line = line " " name[c] " |"
		print line
		gsub(/[^|]+/, " --- ", line)
		print line
		for (i = 1; i <= row_count; i++) {
			line = "| " title[i] " | " show(value[kind, id[i], "native"]) " |"
			for (c = 2; c <= column_count; c++)
				line = line sprintf(" %.2f |", ratio(kind, id[i], name[c], "native"))
			print line
		}
		print ""
	}
	BEGIN { column_count = split(columns, name, " ") }
	NR == FNR {
		if (split($0, field, "|") == 4) {
			id[++row_count] = field[1]; title[row_count] = field[2]
			goal[row_count] = field[3]; ahead[row_count] = field[4]
		}
		next
	}
	{
		list["cpu", $1, $2] = list["cpu", $1, $2] " " $3
		list["wall", $1, $2] = list["wall", $1, $2] " " $4
	}
	END {
		for (key in list)
			value_of[key] = median(list[key])
		for (key in value_of) {
			split(key, part, SUBSEP)
			value[part[1], part[2], part[3]] = value_of[key]
		}
		print "## CPU time, client and daemon\n\nNative: of one operation (an entry, for ls; a file, for find and read). Others: times native.\n"
		table("cpu")
		print "## Wall time\n"
		table("wall")
		print "## Goals, by CPU time\n\n| | goal | measured | |\n| --- | --- | --- | --- |"
		for (i = 1; i <= row_count; i++) {
			if (goal[i] != "-") {
				base = goal[i] ~ /^bindfs/ ? "bindfs" : "native"
				most = goal[i]; sub(/^bindfs /, "", most)
				got = ratio("cpu", id[i], "skillfs", base)
				printf "| %s | at most %s times %s | %.2f | %s |\n", title[i], most, base, got,
					got == 0 ? "not measured" : got <= most + 0 ? "ok" : "MISSED"
			}
			for (c = 3; c <= column_count && ahead[i] == "ahead"; c++) {
				if (name[c] == "passthrough-always")
					continue # shown, and no rival: it does not see changes
				got = ratio("cpu", id[i], "skillfs", name[c])
				printf "| %s | ahead of %s | %.2f times its time | %s |\n", title[i], name[c], got,
					got < 1 ? "ok" : "MISSED"
			}
		}
		print ""
	}' <(printf '%s\n' "$row_table") "$work/figures"
}

# --- others while a large text is scanned ---

measure_workers() {
	local clients large i figures
	mkdir "$work/large" "$work/small" "$work/prepared"
	"$client" make-text "$work/prepared/large.md" $((60 << 20))
	"$client" make-skills "$work/prepared" 4000
	echo "## Others while 60 MiB of text are scanned"
	echo
	echo "Readers of 10 KB files that nobody has seen yet, 3 ms of rest between two reads; median of $turns turns (worst: of all)."
	echo
	echo "| readers | meanwhile | median us | 99th percentile us | worst us | scan ms |"
	echo "| --- | --- | --- | --- | --- | --- |"
	for clients in 1 8; do
		for large in '' large.md; do
			: >"$work/latency"
			for ((i = 0; i < turns; i++)); do
				mkdir "$work/fresh"
				mv "$work/source" "$work/aside"
				mkdir "$work/source"
				start skillfs "$work/source"
				sleep 0.3 # the index is done: there is nothing
				mv "$work/prepared/"* "$work/source"
				figures=$("$client" latency "$work/source/skills" "$(view skillfs)/skills" "$clients" ${large:+"../$large"})
				echo "$figures" >>"$work/latency"
				stop skillfs
				mv "$work/source/"* "$work/prepared"
				rmdir "$work/source" "$work/fresh"
				mv "$work/aside" "$work/source"
			done
			awk -F '\t' -v clients="$clients" -v what="${large:+the scan}" '
			function median(field, i, j, n, swap, part) {
				n = NR
				for (i = 1; i <= n; i++) part[i] = figure[i, field]
				for (i = 2; i <= n; i++)
					for (j = i; j > 1 && part[j - 1] > part[j]; j--) {
						swap = part[j]; part[j] = part[j - 1]; part[j - 1] = swap
					}
				return part[int(n / 2) + 1]
			}
			{ for (i = 1; i <= 5; i++) figure[NR, i] = $i + 0; if ($4 + 0 > worst) worst = $4 + 0 }
			END {
				printf "| %d | %s | %.0f | %.0f | %.0f | %s |\n", clients, what == "" ? "nothing" : what,
					median(2), median(3), worst, what == "" ? "-" : sprintf("%.0f", median(5))
			}' "$work/latency"
		done
	done
	echo
}

version() { # NAME PACKAGE
	echo "$1 $(dpkg-query -W -f '${Version}' "$2" 2>/dev/null || echo '?')"
}

header() {
	echo "# Bench: content"
	echo
	echo "$(date -u '+%Y-%m-%d %H:%M') UTC, commit $(git describe --always --dirty 2>/dev/null || echo unknown)," \
		"$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) cores, Linux $(uname -r)," \
		"$(stat -f -c %T "$work"), load $(cut -d ' ' -f 1 /proc/loadavg), $(version libfuse libfuse3-3), $(version bindfs bindfs)"
	echo
	echo "$turns turns of each. skillfs keeps its default entry timeout of 1 s, like bindfs and passthrough: each turn begins" \
		"with a pass that is not counted and is over within that second. No work is left to kernel threads in these rows."
	echo
}

rm -f "$build/content.md" # of an earlier run
header >"$work/content.md"
if [[ $sections = *table* ]]; then
	"$client" make-skills "$work/source" 2000
	mkdir "$work/source/large"
	"$client" make-binary "$work/source/large/asset.bin" $((256 << 20))
	: >"$work/figures"
	measure_warm
	measure_cold cold skills
	measure_cold cold-large large
	print_table >>"$work/content.md"
	rm -rf "${work:?}/source"
	mkdir "$work/source"
fi
if [[ $sections = *workers* ]]; then
	measure_workers >>"$work/content.md"
fi
cp "$work/content.md" "$build/content.md"
cat "$build/content.md"
echo "The table is in ${build#"$root"/}/content.md"
