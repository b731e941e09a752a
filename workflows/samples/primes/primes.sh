#!/bin/sh
# primes.sh FIRST LAST: writes the prime numbers from FIRST to LAST to found.txt, one a line.
for tool in seq factor awk; do
    # A missing command inside a pipe would go unnoticed, and the answer would be 0.
    command -v "$tool" > /dev/null || { echo "primes.sh needs $tool, which is not there" >&2; exit 127; }
done
# factor prints "21: 3 7"; a prime is a number with itself as its only factor, which makes two fields.
seq "$1" "$2" | factor | awk 'NF == 2 { print $2 }' > found.txt
