#!/bin/sh
# expose.sh COLUMN ROW LEVEL WIDTH HEIGHT: takes a picture of one part of the Mandelbrot set, of so many dots. LEVEL is
# added to every colour, as if light had fallen in. The picture has one column and one row more than asked for, which its
# neighbours to the right and below have too; the sums of the reds on its four edges are written beside it.
set -eu
awk -v column="$1" -v row="$2" -v level="$3" -v width="$4" -v height="$5" '
# How many steps a point takes to escape; most where it never does.
function steps(x, y,    a, b, aa, bb, q, n) {
    # Most of what never escapes lies in two shapes that are known.
    q = (x - 0.25) * (x - 0.25) + y * y
    if (q * (q + x - 0.25) < 0.25 * y * y || (x + 1) * (x + 1) + y * y < 0.0625) return most
    while (n < most && aa + bb <= 16) {
        b = 2 * a * b + y
        a = aa - bb + x
        aa = a * a; bb = b * b
        n++
    }
    return n + 0
}
BEGIN {
    most = 60
    for (n = 0; n <= most; n++) {
        red[n] = level + (n < 20 ? n * 10 : 200)
        green = level + (n < 12 ? 16 + n * 6 : (n < 32 ? 80 + (n - 12) * 6 : 200))
        blue = level + (n < 10 ? 72 + n * 12 : (n < 40 ? 192 - (n - 10) * 6 : 12))
        if (n == most) red[n] = green = blue = level
        dot[n] = red[n] " " green " " blue " "
    }
    # The three columns together are 3.6 wide.
    step = 1.2 / width
    printf "P3\n%d %d\n255\n", width + 1, height + 1 > "tile.ppm"
    for (line = 0; line <= height; line++) {
        y = (row - 1) * height * step + line * step
        for (at = 0; at <= width; at++) {
            n = steps(-2.5 + (column * width + at) * step, y)
            printf "%s", dot[n] > "tile.ppm"
            if (at == 0) left += red[n]
            if (at == width) right += red[n]
            if (line == 0) top += red[n]
            if (line == height) bottom += red[n]
        }
        print "" > "tile.ppm"
    }
    print column, row, left, right, top, bottom, width + 1, height + 1 > "edges.txt"
}'
