#!/bin/sh
# levels.sh: finds from the edges of all tiles how much lighter each is than the darkest: what two neighbours share must be
# the same. Prints one number a tile, row by row.
set -eu
sort -k2,2n -k1,1n edges*.txt | awk '
{
    # From the neighbour to the left, else from the one above.
    if ($1 > 0) level = levels[$2, $1 - 1] + ($3 - right[$2, $1 - 1]) / $8
    else if ($2 > 0) level = levels[$2 - 1, $1] + ($5 - bottom[$2 - 1, $1]) / $7
    else level = 0
    levels[$2, $1] = level
    right[$2, $1] = $4
    bottom[$2, $1] = $6
    number[++n] = level
    if (level < least) least = level
}
END { for (i = 1; i <= n; i++) print number[i] - least }'
