#!/bin/sh
echo "hello from the shell starter"
