#!/bin/sh
# throw.sh ANGLE DRAG: throws a ball at 30 m/s and writes ANGLE and how far it flew, in metres, to distance.txt.
# The air slows it down by DRAG times the square of its speed.
command -v awk > /dev/null || { echo "throw.sh needs awk, which is not there" >&2; exit 127; }
awk -v angle="$1" -v drag="$2" 'BEGIN {
    vx = 30 * cos(angle * atan2(0, -1) / 180)
    vy = 30 * sin(angle * atan2(0, -1) / 180)
    for (dt = 0.0005; y >= 0; x += vx * dt) {
        v = sqrt(vx * vx + vy * vy)
        vx -= drag * v * vx * dt
        vy -= (9.81 + drag * v * vy) * dt
        y += vy * dt
    }
    printf "%d %.2f\n", angle, x
}' > distance.txt
