#!/bin/sh
set -eu
rm -f "$HOME/.local/bin/example-tool"
