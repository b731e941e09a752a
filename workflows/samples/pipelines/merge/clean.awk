# Writes the words of a list in small letters.
{ print $1, tolower($2) }
