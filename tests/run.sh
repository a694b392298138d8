#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [CTEST_ARGUMENT...]
#
# Installs what is missing, builds with ASan and UBSan and runs every test. As root it
# does so in a copy of the sources below /tmp, first as root, then as an ordinary user
# that it makes and removes; the checkout is only read. As an ordinary user it
# runs that user's part in build/asan. The last line counts: passed, failed, skipped.
# As root, with /dev/fuse and bwrap there, a skipped test is a failure.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/mount-helpers/packages.sh"

# All that the user whom we made still runs.
end_processes() { # UID
	local pid
	for _ in 1 2 3 4 5; do
		for pid in /proc/[0-9]*; do
			# By status: the folder of a process that is not dumpable is root's.
			if [ "$(awk '$1 == "Uid:" { print $2 }' "$pid/status" 2>/dev/null)" = "$1" ]; then
				kill -KILL "${pid#/proc/}" 2>/dev/null || true
			fi
		done
		sleep 0.1
	done
}

stage=
user=
fuse_mode=
made_mtab=no
cleanup() {
	local status=$?
	trap - EXIT INT TERM HUP
	cd /
	[ -z "$fuse_mode" ] || chmod "$fuse_mode" /dev/fuse
	[ "$made_mtab" = no ] || rm -f /etc/mtab
	if [ -n "$user" ]; then
		end_processes "$(id -u "$user")"
		userdel "$user" || status=1
	fi
	if [ -n "$stage" ]; then
		# What a test that was killed left mounted.
		findmnt -rn -o TARGET | { grep -F "$stage/" || true; } | sort -r | while IFS= read -r target; do
			umount -l "$(printf '%b' "$target")" || true
		done
		rm -rf --one-file-system "$stage"
	fi
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

packages_install build run test

tree=$root
if [ "$(id -u)" -eq 0 ]; then
	# A place of its own, since an ordinary user may not be able to reach the checkout.
	stage=$(mktemp -d /tmp/skillfs-tests.XXXXXX)
	chmod 0755 "$stage"
	mkdir "$stage/skillfs"
	tar -C "$root" --exclude ./build --exclude ./.git --exclude ./.cache -cf - . |
		tar -C "$stage/skillfs" --no-same-owner -xf -
	tree=$stage/skillfs
	umask 022
fi
export SKILLFS_CORPUS=${SKILLFS_CORPUS:-}
if [ -z "$SKILLFS_CORPUS" ] && [ -d "$root/../shared/corpus" ]; then
	SKILLFS_CORPUS=$(cd "$root/../shared/corpus" && pwd)
fi

cd "$tree"
echo "== Build (asan)"
if ! { cmake --preset asan && cmake --build --preset asan; } >build.log 2>&1; then
	cat build.log
	exit 1
fi
# What a sanitizer makes too large or too slow is asked of the program as it ships.
echo "== Build (release, the program alone)"
if ! { cmake --preset release && cmake --build --preset release --target skillfs; } >build.log 2>&1; then
	cat build.log
	exit 1
fi
rm build.log
export SKILLFS_PLAIN=$tree/build/release/bin/skillfs

as_user() {
	setpriv --reuid "$user" --regid "$user" --init-groups --inh-caps=-all "$@"
}

# Runs ctest once; $1 names the results, the rest is the command to run it through.
results=()
failed=no
suite() { # NAME [COMMAND...]
	local name=$1
	shift
	results+=("$tree/build/$name.xml")
	echo
	echo "== Tests as $name"
	# shellcheck disable=SC2154
	"$@" ctest --test-dir "$tree/build/asan" --output-junit "$tree/build/$name.xml" \
		--output-on-failure --no-tests=error --test-output-size-passed 65536 -j "$(nproc)" "${arguments[@]}" </dev/null || failed=yes
}
arguments=("$@")

if [ "$(id -u)" -ne 0 ]; then
	suite "$(id -un)"
else
	suite root

	user=skillfs-test-$$
	mkdir -m 0755 "$stage/home"
	useradd --system --user-group --no-create-home --home-dir "$stage/home" --shell /bin/bash "$user"
	mkdir "$stage/tmp"
	chmod 1777 "$stage/tmp"
	chown -R "$user:" "$tree" "$stage/home"
	if [ -c /dev/fuse ]; then
		mode=$(stat -c %a /dev/fuse)
		if [ "$mode" != 666 ]; then
			fuse_mode=$mode
			chmod 0666 /dev/fuse
		fi
	fi
	# A bare root has none, and without it fusermount3 unmounts nothing.
	if [ ! -e /etc/mtab ] && ln -s ../proc/self/mounts /etc/mtab; then
		made_mtab=yes
	fi
	# Of root's PATH what the user can reach: a folder that can't be searched changes what a missing command means.
	path=
	while IFS= read -r -d : folder; do
		if as_user test -x "$folder"; then
			path+=${path:+:}$folder
		fi
	done <<<"$PATH:"
	corpus=$SKILLFS_CORPUS
	if ! as_user ls "$corpus/benign" >/dev/null 2>&1; then
		corpus= # in a folder of root's
	fi
	suite user as_user env -i PATH="$path" HOME="$stage/home" USER="$user" LOGNAME="$user" LANG=C.UTF-8 \
		TMPDIR="$stage/tmp" SKILLFS_CORPUS="$corpus" SKILLFS_PLAIN="$SKILLFS_PLAIN"
	end_processes "$(id -u "$user")"
	left=$(find /tmp /var/tmp /run -xdev -maxdepth 3 -path "$stage" -prune -o -user "$user" -print 2>/dev/null || true)
	if [ -n "$left" ]; then
		printf 'left behind by the tests:\n%s\n' "$left"
		failed=yes
	fi
fi

echo
strict=no
if [ "$(id -u)" -eq 0 ] && [ -c /dev/fuse ] && command -v bwrap >/dev/null; then
	strict=yes
fi
python3 "$tree/tests/lib/summary.py" "$strict" "${results[@]}" || failed=yes
[ "$failed" = no ]
