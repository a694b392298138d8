#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# quickstart.sh [--check] [SKILLS_DIR]
#
# Installs what is missing (Debian, Ubuntu), builds the release preset, mounts
# SKILLS_DIR over itself and shows what that did. Without SKILLS_DIR it takes a copy
# of the sample skills. Safe to run again. With --check it asserts what each step
# showed, unmounts, and leaves nothing behind.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
. "$here/packages.sh"

usage="usage: quickstart.sh [--check] [SKILLS_DIR]"
check=no
skills=
for argument in "$@"; do
	case $argument in
	--check) check=yes ;;
	-h | --help) echo "$usage" && exit 0 ;;
	-*) echo "$usage" >&2 && exit 2 ;;
	*) [ -z "$skills" ] || { echo "$usage" >&2 && exit 2; }
	   skills=$argument ;;
	esac
done

say() { printf '%s\n' "$*"; }
die() { # WHAT [LINE...]
	printf 'quickstart: %s\n' "$1" >&2
	shift
	[ $# -eq 0 ] || printf '    %s\n' "$@" >&2
	exit 1
}

# What this run made, and takes away again: with --check always, else when it fails.
scratch=
mounted=
finished=no

mounted_at() { # PATH
	findmnt -rn -t fuse.skillfs -o TARGET --mountpoint "$1" >/dev/null 2>&1
}

unmount() { # PATH
	"$skillfs" umount "$1" 2>/dev/null || umount "$1" 2>/dev/null || fusermount3 -u -z "$1"
}

cleanup() {
	status=$?
	trap - EXIT INT TERM HUP
	if [ "$check" = yes ] || [ "$finished" = no ]; then
		cd /
		if [ -n "$mounted" ] && mounted_at "$mounted"; then
			unmount "$mounted" || status=1
		fi
		[ -z "$scratch" ] || rm -rf --one-file-system "$scratch"
	fi
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# --- set-up ----------------------------------------------------------------

say "== Packages"
packages_install build run
say "All there."

if [ ! -c /dev/fuse ] && [ "$(id -u)" -eq 0 ]; then
	modprobe fuse 2>/dev/null || true
fi
[ -c /dev/fuse ] || die "there is no /dev/fuse." \
	"In a container, start it with: --device /dev/fuse --cap-add SYS_ADMIN. Elsewhere: sudo modprobe fuse"
if ! (exec 3<>/dev/fuse) 2>/dev/null; then
	die "$(id -un) may not open /dev/fuse ($(stat -c 'mode %a, owner %U:%G' /dev/fuse))." \
		"Either let ordinary users mount:  sudo chmod 0666 /dev/fuse" \
		"or run this as root:              sudo $here/quickstart.sh"
fi
# Bare roots and some containers have none. Root unmounts without fusermount3.
if [ "$(id -u)" -ne 0 ] && [ ! -e /etc/mtab ]; then
	die "there is no /etc/mtab, and without it fusermount3 unmounts nothing." \
		"As root:  ln -s ../proc/self/mounts /etc/mtab"
fi

say
say "== Build (build/release)"
# A checkout that was copied together with its build folder: cmake would refuse.
if ! grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$root/build/release/CMakeCache.txt"; then
	rm -rf "$root/build/release"
fi
log=$(mktemp "${TMPDIR:-/tmp}/skillfs-build.XXXXXX")
if ! (cd "$root" && cmake --preset release && cmake --build --preset release) >"$log" 2>&1; then
	cat "$log" >&2
	rm -f "$log"
	die "the build failed."
fi
rm -f "$log"
skillfs=$root/build/release/bin/skillfs
"$skillfs" --version

# --- the folder ------------------------------------------------------------

sample=no
if [ -z "$skills" ]; then
	sample=yes
	if [ "$check" = yes ]; then
		scratch=$(mktemp -d "${TMPDIR:-/tmp}/skillfs-quickstart.XXXXXX")
	else
		# One folder a user: running this again replaces it.
		scratch=${TMPDIR:-/tmp}/skillfs-quickstart-$(id -u)
		if mounted_at "$scratch/skills"; then
			unmount "$scratch/skills"
		fi
		[ ! -e "$scratch" ] || [ -O "$scratch" ] || die "$scratch is not yours."
		rm -rf --one-file-system "$scratch"
		mkdir -m 0700 "$scratch"
	fi
	skills=$scratch/skills
	cp -a "$root/tests/data/skills" "$skills"
fi
[ -d "$skills" ] || die "$skills is not a directory."
skills=$(cd "$skills" && pwd)

# The file to show beside its source: the first that the pipeline changes. Its source is kept
# now, because once mounted nobody reads it by this path.
if [ -z "$scratch" ]; then
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/skillfs-quickstart.XXXXXX")
fi
before=$scratch/before.md
changed=
hidden_before=0
if mounted_at "$skills"; then
	say "$skills is mounted already; showing it as it is."
else
	while IFS= read -r -d '' file; do
		if "$skillfs" scan --fail-on critical "$file" >/dev/null 2>&1 &&
			! "$skillfs" sanitize "$file" 2>/dev/null | cmp -s - "$file"; then
			changed=${file#"$skills"/}
			cp "$file" "$before"
			break
		fi
	done < <(find "$skills" -iname SKILL.md -type f -print0 | sort -z)
	hidden_before=$(find "$skills" -type f | wc -l)
fi

# --- what it does ----------------------------------------------------------

failures=0
shown=

# Runs a command line, shows it and up to 40 lines of what it printed (clipped), keeps all of it in $shown.
show() { # TITLE COMMAND
	say
	say "== $1"
	say "\$ $2"
	if ! shown=$(bash -c "$2" 2>&1); then
		: # diff and the like say more by their output than by their code; `expect` judges.
	fi
	sed -n 1,40p <<<"$shown" | cut -c 1-2000
	local lines
	lines=$(printf '%s\n' "$shown" | wc -l)
	[ "$lines" -le 40 ] || say "... $((lines - 40)) more lines"
}

# With --check on the sample: the last output must (or must not) hold a text.
expect() { # TEXT
	[ "$check" = yes ] && [ "$sample" = yes ] || return 0
	grep -qF -- "$1" <<<"$shown" || complain "this should have shown: $1"
}
expect_not() { # TEXT
	[ "$check" = yes ] && [ "$sample" = yes ] || return 0
	! grep -qF -- "$1" <<<"$shown" || complain "this should not have shown: $1"
}
complain() {
	say "CHECK FAILED: $1"
	failures=$((failures + 1))
}

quoted() { printf '%q' "$1"; }
dir=$(quoted "$skills")
program=$(quoted "$skillfs")

say
say "== Mount it over itself"
if ! mounted_at "$skills"; then
	# A mount's audit log outlives it: with --check it goes with the rest.
	options=()
	[ "$check" = no ] || options=(-o "state=$scratch/state")
	say "\$ $program mount ${options[*]:+${options[*]} }$dir"
	mounted=$skills
	"$skillfs" mount "${options[@]}" "$skills"
fi
mounted_at "$skills" || die "skillfs mount came back, but $skills is not mounted."

show "What an agent sees now: a file with a CRITICAL finding is not there" "find $dir -type f | sort"
expect "$skills/pdf-notes/SKILL.md"
expect "$skills/quick-install/SKILL.md"
expect "$skills/shell-starter/scripts/hello.sh"
expect_not "install.sh"
expect_not "shell-starter/SKILL.md"
visible=$(printf '%s\n' "$shown" | wc -l)
[ "$hidden_before" -eq 0 ] || say "($visible of $hidden_before files)"

if [ -n "$changed" ]; then
	long=
	[ "$(wc -l <"$before")" -le 40 ] || long=--suppress-common-lines
	show "A sanitized body (right) beside its source (left)" \
		"diff -t -y -W 160 ${long:+$long }$(quoted "$before") $(quoted "$skills/$changed")"
	expect "collector.example.com"
	expect "Keep it short: one line a change."
	show "What was taken out of it" "$program sanitize --report $(quoted "$before") 2>&1 >/dev/null"
	expect '"htmlCommentsStripped"'
	if [ "$check" = yes ] && [ "$sample" = yes ]; then
		shown=$(cat "$skills/$changed")
		expect_not "collector.example.com"
		expect "4. Write for the user, not for the author."
		"$skillfs" sanitize "$before" 2>/dev/null | cmp -s - "$skills/$changed" ||
			complain "the mount does not serve what 'skillfs sanitize' prints"
	fi
fi

warned=
while IFS= read -r -d '' file; do
	if [ "$(getfattr --only-values -n user.skillfs.verdict "$file" 2>/dev/null)" = warn ]; then
		warned=$file
		break
	fi
done < <(find "$skills" -type f -print0 | sort -z)
if [ -n "$warned" ]; then
	show "A file with WARN findings is served; they stand in its attributes" \
		"getfattr --absolute-names -d $(quoted "$warned")"
	expect 'user.skillfs.verdict="warn"'
	expect "ENV_PRINTENV"
	expect "NET_CURL_PIPE"
	expect "user.skillfs.findings="
else
	shown=
	expect "a file with the verdict warn"
fi

show "What is hidden, and why (owner only)" "cat $dir/.skillfs/quarantine"
expect "quick-install/scripts/install.sh"
expect "EXEC_PIPE_BASH"
expect "shell-starter/SKILL.md"

show "The agent's effective tools" "cat $dir/.skillfs/agents/default/tools"
expect "read"
expect "exec"
expect_not "web_search"

show "A command through the jail" \
	"exec 3<>$dir/.skillfs/exec; echo 'id; ls -A ~; touch $dir/x; cat ~/.ssh/id_rsa' >&3; cat <&3"
expect "uid=$(id -u)"
expect '"tier"'
expect '"bwrap'
expect "Read-only file system"
expect "No such file or directory"

# --- the end ---------------------------------------------------------------

say
if [ "$check" = yes ]; then
	cd /
	[ -z "$mounted" ] || { say "\$ $program umount $dir"; "$skillfs" umount "$mounted"; }
	! mounted_at "$skills" || [ -z "$mounted" ] || complain "$skills is still mounted"
	if [ "$failures" -gt 0 ]; then
		say "quickstart: $failures checks failed"
		exit 1
	fi
	say "quickstart: every step showed what it should"
	exit 0
fi
finished=yes
[ "$sample" = yes ] || rm -rf "$scratch"
say "== It stays mounted. To unmount:"
say "\$ $program umount $dir"
