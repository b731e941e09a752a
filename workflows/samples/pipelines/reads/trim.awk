# Cuts each read before its first base whose quality is below `quality`, and drops those with less than 16 bases left.
BEGIN {
    for (code = 33; code < 33 + quality; code++)
        low = low sprintf("%c", code)
}
NR % 4 == 1 { name = $0 }
NR % 4 == 2 { bases = $0 }
NR % 4 == 0 {
    for (n = 0; n < length($0) && index(low, substr($0, n + 1, 1)) == 0; n++)
        continue
    if (n >= 16)
        print name "\n" substr(bases, 1, n) "\n+\n" substr($0, 1, n)
}
