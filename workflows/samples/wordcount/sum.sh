#!/bin/sh
# sum.sh HALF: adds up the counts of one half of the alphabet, most frequent word first.
set -e
cat counts*/"$1".txt | awk '{ n[$2] += $1 } END { for (w in n) print n[w], w }' | sort -k1,1nr -k2,2 > sums.txt
