#!/bin/sh
# Sweeps of successive over-relaxation over the plate in grid.txt, which leave new.txt: each inner point moves
# towards the mean of its four neighbours, and a little beyond. Prints the largest move of the last sweep.
awk -v n_sweeps="$1" '
    { for (column = 1; column <= NF; column++) at[NR, column] = $column; width = NF }
    END {
        for (sweep = 1; sweep <= n_sweeps; sweep++) {
            residual = 0
            for (row = 2; row < NR; row++) {
                for (column = 2; column < width; column++) {
                    around = at[row - 1, column] + at[row + 1, column] + at[row, column - 1] + at[row, column + 1]
                    move = 1.7 * (around / 4 - at[row, column])
                    at[row, column] += move
                    if (move < 0) move = -move
                    if (move > residual) residual = move
                }
            }
        }
        for (row = 1; row <= NR; row++) {
            for (column = 1; column <= width; column++) printf "%.9f ", at[row, column] > "new.txt"
            print "" > "new.txt"
        }
        printf "%.9f\n", residual
    }' grid.txt
