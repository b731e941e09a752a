# Looks up the first and the last 16 bases of each read in the index, its first file, and writes the place in the
# genome, the read and its length. A read is somewhere if either of them is.
FNR == NR { places[$1] = $2; next }
FNR % 4 == 1 { name = substr($0, 2) }
FNR % 4 == 2 {
    n = length($0)
    tail = substr($0, n - 15)
    if ((head = substr($0, 1, 16)) in places)
        print places[head], name, n
    else if (tail in places)
        print places[tail] - n + 16, name, n
    else
        print 0, name, n
}
