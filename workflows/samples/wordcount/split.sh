#!/bin/sh
# split.sh TEXT...: deals the lines of all texts out to part1.txt ... part4.txt in turn.
set -e
: > part1.txt; : > part2.txt; : > part3.txt; : > part4.txt
cat "$@" | awk '{ print > ("part" (NR % 4 + 1) ".txt") }'
