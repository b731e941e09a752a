#!/bin/sh
# shrink.sh LEVEL: takes LEVEL off every colour of tile.ppm and makes one dot of four, without the column and the row that
# the next tile has too.
set -eu
awk -v level="$1" '
NR == 2 { width = int($1 / 2); height = int($2 / 2); printf "P3\n%d %d\n255\n", width, height }
NR < 4 || NR > 2 * height + 3 { next }
NR % 2 == 0 { for (i = 1; i <= 6 * width; i++) above[i] = $i; next }
{
    for (i = 1; i < 6 * width; i += 6)
        printf "%d %d %d ", (above[i] + above[i + 3] + $i + $(i + 3)) / 4 - level, \
            (above[i + 1] + above[i + 4] + $(i + 1) + $(i + 4)) / 4 - level, \
            (above[i + 2] + above[i + 5] + $(i + 2) + $(i + 5)) / 4 - level
    print ""
}' tile.ppm > small.ppm
