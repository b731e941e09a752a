# Writes each word of 16 bases of a genome and where it begins.
!/^>/ { genome = genome $0 }
END { for (at = 1; at + 15 <= length(genome); at++) print substr(genome, at, 16), at }
