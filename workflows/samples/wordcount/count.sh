#!/bin/sh
# count.sh: counts the words of part.txt. Those that begin with a to m go to counts/first.txt, the others to
# counts/second.txt, so that each half of the alphabet can be added up by an activity of its own.
set -e
mkdir counts
: > counts/first.txt; : > counts/second.txt
tr 'A-Z' 'a-z' < part.txt | tr -cs 'a-z' '\n' | awk '
    length($0) > 0 { n[$0]++ }
    END { for (w in n) print n[w], w > (w < "n" ? "counts/first.txt" : "counts/second.txt") }'
