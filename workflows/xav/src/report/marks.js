// The means of drawing that charts share: bars thinner than a pixel, colours, and lines over time.

/** Bars that are thinner than a pixel, added up a pixel at a time. */
class Thin {
  constructor(c, y, tall, colours) {
    Object.assign(this, { c, y, tall, colours, pixel: null, covered: colours.map(() => 0) });
  }

  add(left, right, group) {
    // However short it is, it is to be seen.
    const end = Math.max(right, left + 0.35);
    for (let at = Math.floor(left); at < end; at += 1) {
      if (this.pixel !== at) {
        this.end();
        this.pixel = at;
      }
      this.covered[group] += Math.min(end, at + 1) - Math.max(left, at);
    }
  }

  end() {
    if (this.pixel === null) return;
    const all = this.covered.reduce((sum, one) => sum + one, 0);
    const most = this.covered.indexOf(Math.max(...this.covered));
    this.c.globalAlpha = Math.min(1, 0.3 + 0.7 * all);
    this.c.fillStyle = this.colours[most];
    this.c.fillRect(this.pixel, this.y, 1, this.tall);
    this.c.globalAlpha = 1;
    this.covered.fill(0);
    this.pixel = null;
  }
}

/** Whether dark text is read better on a colour, which is written `#rrggbb`. */
function isBright(colour) {
  const part = (at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2;
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5) > 0.2;
}

/** All machines as one. */
function sumOf(all) {
  const changes = [];
  for (const machine of all) {
    machine.held.forEach((held, at) => changes.push([machine.times[at], held - (machine.held[at - 1] ?? 0)]));
  }
  changes.sort(([a], [b]) => a - b);
  let held = 0;
  const sum = { name: "all machines", slots: 0, times: [], held: [] };
  all.forEach((machine) => { sum.slots += machine.slots; });
  for (const [time, change] of changes) {
    held += change;
    sum.times.push(time);
    sum.held.push(held);
  }
  return sum;
}

/** The mean of held slots between two times. They are asked for in order. */
function meanOf({ times, held }) {
  let at = 0;
  return (from, to) => {
    while (at + 1 < times.length && times[at + 1] <= from) at += 1;
    let [sum, place] = [0, at];
    while (place < times.length && times[place] < to) {
      const end = Math.min(to, times[place + 1] ?? Infinity);
      sum += held[place] * Math.max(0, end - Math.max(from, times[place]));
      place += 1;
    }
    return sum / Math.max(1e-9, to - from);
  };
}
