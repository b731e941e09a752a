#!/bin/sh
# generate.sh [READS] [SEED]: writes the data of the three pipelines beside this script, the same for the same seed:
# a genome and 12 samples of READS reads (1000 if left out), four towns, and 32 lists of words.
set -eu
n_reads=${1:-1000}
seed=${2:-7}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$here/reads/data" "$here/sweep/data" "$here/merge/data"
# The numbers are those of Lehmer's generator, since each awk draws others by itself. READS changes those of the last
# part alone.
awk -v here="$here" -v n_reads="$n_reads" -v state="$seed" '
function draw(n) { state = (state * 48271) % 2147483647; return int(state / 2147483647 * n) }
function base() { return substr("ACGT", draw(4) + 1, 1) }
BEGIN {
    split("aldeia cidade porto vila", towns, " ")
    for (i = 1; i in towns; i++) {
        file = here "/sweep/data/" towns[i] ".txt"
        printf "people %d\nill %d\ndays %d\n", 1000 + draw(9000), 1 + draw(20), 3 + draw(5) > file
        close(file)
    }

    for (part = 0; part < 32; part++) {
        file = sprintf("%s/merge/data/%02d.txt", here, part)
        for (n = 1; n <= 500; n++) {
            word = ""
            for (i = 3 + draw(6); i > 0; i--) word = word sprintf("%c", 97 + draw(26))
            printf "%d %s\n", draw(100000), (draw(4) == 0) ? toupper(word) : word > file
        }
        close(file)
    }

    genome = ""
    for (i = 0; i < 4000; i++) genome = genome base()
    file = here "/reads/data/genome.fa"
    print ">chr1" > file
    for (i = 1; i <= 4000; i += 80) print substr(genome, i, 80) > file
    close(file)

    for (sample = 1; sample <= 12; sample++) {
        file = sprintf("%s/reads/data/s%02d.fastq", here, sample)
        for (n = 1; n <= n_reads; n++) {
            # One read in ten is none of this genome. Qualities fall towards the end, of each read from another one.
            bases = ""; marks = ""; from = draw(3940); foreign = draw(10) == 0; first = 12 + draw(29)
            for (i = 1; i <= 60; i++) {
                quality = first - int(i / 4) + draw(5)
                if (quality < 2) quality = 2
                wrong = foreign || draw(quality * quality) == 0
                bases = bases (wrong ? base() : substr(genome, from + i, 1))
                marks = marks sprintf("%c", 33 + quality)
            }
            printf "@s%02d.%d\n%s\n+\n%s\n", sample, n, bases, marks > file
        }
        close(file)
    }
}'
