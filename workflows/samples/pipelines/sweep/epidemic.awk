# Lets an illness go through a town for 200 days: each day, everybody who is ill meets `rate` people and is ill for
# the town's number of days. Writes the town, the rate, the day with the most who are ill, how many these are, and how
# many were ill in all.
{ of[$1] = $2 }
END {
    ill = of["ill"]
    well = of["people"] - ill
    for (day = 0; day < 200; day++) {
        if (ill > most) {
            most = ill
            peak = day
        }
        caught = rate * ill * well / of["people"]
        healed = ill / of["days"]
        well -= caught
        ill += caught - healed
    }
    printf "%s %.2f %d %.0f %.0f\n", town, rate, peak, most, of["people"] - well
}
