#!/bin/sh
# Commits since the last tag, one a line, oldest first.
set -eu
last=$(git describe --tags --abbrev=0 2>/dev/null || true)
git log --reverse --format='%h %s' ${last:+"$last.."}HEAD
