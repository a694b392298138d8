# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The packages skillfs needs, in one place; sourced by quickstart.sh, tests/run.sh,
# tests/corpus.sh, tests/fuzz/run.sh, tests/bench/*.sh and .ci/run. What is there already is
# found by looking for the thing itself, so that nothing is installed, and no root needed, on a
# machine that has it all.

# group | Debian and Ubuntu package | how to see that it is there
package_table='
build gcc              command:gcc
build libc6-dev        header:stdio.h
build cmake            command:cmake
build ninja-build      command:ninja
build pkg-config       command:pkg-config
build libfuse3-dev     module:fuse3
build libpcre2-dev     module:libpcre2-8
build libunistring-dev header:uninorm.h
build libxxhash-dev    module:libxxhash
build libyaml-dev      module:yaml-0.1
build libjansson-dev   module:jansson
build libseccomp-dev   module:libseccomp
build libssl-dev       module:libcrypto
run   fuse3            command:fusermount3
run   bubblewrap       command:bwrap
run   attr             command:getfattr
run   diffutils        command:diff
test  libcmocka-dev    module:cmocka
test  python3          command:python3
test  git              command:git
test  rsync            command:rsync
test  ripgrep          command:rg
test  nodejs           command:node
test  util-linux       command:setpriv
test  passwd           command:useradd
ci    clang            command:clang
fuzz  clang            command:clang
fuzz  libclang-rt-dev  sanitizer:fuzzer
bench-hyperscan libhyperscan-dev module:libhs
bench-re2       g++              command:g++
bench-re2       libre2-dev       module:re2
bench-icu       g++              command:g++
bench-icu       libicu-dev       module:icu-uc
bench-ripgrep   ripgrep          command:rg
bench-bindfs    bindfs           command:bindfs
'

package_present() { # HOW
	case $1 in
	command:*) PATH=$PATH:/usr/sbin:/sbin command -v "${1#command:}" >/dev/null ;;
	module:*) command -v pkg-config >/dev/null && pkg-config --exists "${1#module:}" ;;
	header:*) command -v gcc >/dev/null && echo "#include <${1#header:}>" | gcc -E -x c - >/dev/null 2>&1 ;;
	sanitizer:*)
		command -v clang >/dev/null &&
			echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
			clang -fsanitize="${1#sanitizer:}" -x c - -o /dev/null 2>/dev/null
		;;
	*) return 1 ;;
	esac
}

packages_missing() { # GROUP...
	local group package how wanted
	while read -r group package how; do
		for wanted in "$@"; do
			if [ "$group" = "$wanted" ] && ! package_present "$how"; then
				echo "$package"
			fi
		done
	done <<<"$package_table"
}

# Installs what is missing of the groups with apt, through sudo where we are not root.
# Where that can't be done it says what to install and returns 1.
packages_install() { # GROUP...
	local missing sudo=() log
	mapfile -t missing < <(packages_missing "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	if ! command -v apt-get >/dev/null; then
		echo "skillfs: no apt-get here: install what these Debian packages hold, then run this again:" >&2
		echo "    ${missing[*]}" >&2
		return 1
	fi
	if [ "$(id -u)" -ne 0 ]; then
		if ! command -v sudo >/dev/null; then
			echo "skillfs: packages are missing and there is no sudo: as root, run" >&2
			echo "    apt-get update && apt-get install ${missing[*]}" >&2
			return 1
		fi
		sudo=(sudo)
	fi
	echo "Installing ${missing[*]}"
	log=$(mktemp)
	# The package lists may be absent or old: fetch them only when installing fails without.
	if ! packages_apt install "${missing[@]}" >"$log" 2>&1; then
		if ! { packages_apt update && packages_apt install "${missing[@]}"; } >"$log" 2>&1; then
			cat "$log" >&2
			rm -f "$log"
			echo "skillfs: apt could not install: ${missing[*]}" >&2
			return 1
		fi
	fi
	rm -f "$log"
	mapfile -t missing < <(packages_missing "$@")
	if [ ${#missing[@]} -gt 0 ]; then
		echo "skillfs: installed, but still not found: ${missing[*]}" >&2
		return 1
	fi
}

packages_apt() { # install PACKAGE... | update; uses sudo=() of the caller
	local verb=$1
	shift
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
		-o Dpkg::Use-Pty=0 "$verb" ${1:+--no-install-recommends "$@"} </dev/null
}
