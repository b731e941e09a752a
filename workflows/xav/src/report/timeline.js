// The charts: plan, run and slots in use on one time axis, which can be moved and zoomed.
//
// Where bars are thinner than a pixel, a pixel shows the group that covers most of it, the fainter
// the less of it is covered.

const AXIS = 22; // CSS pixels above the rows.
const STRIP = 12; // The critical path above the run.
const ROWS = 340; // What the rows of one chart should take together.
const BUSY = 56; // One machine's line of slots in use.
const MACHINES_DRAWN = 6; // With more machines, one line stands for all.
const LANE = 26; // The items of one activity.
const lanes = data.items.filter((items) => items.times.length > 0);

/** Distances between the lines of the axis, in microseconds: from one of them to a week. */
const STEPS = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7].flatMap((unit) => [1, 2, 5].map((n) => n * unit))
  .filter((step) => step <= 3e7)
  .concat([3e7, 6e7, 12e7, 3e8, 6e8, 18e8, 36e8, 72e8, 144e8, 432e8, 864e8, 6048e8]);

/** The rows that a machine has in a chart. */
const rowsIn = (of, machine) => (of === plan ? machine.planned : machine.ran);

/** Rows of a chart: for each, its bars by their start. */
function rowsOf(of) {
  const first = [];
  let n = 0;
  machines.forEach((machine, index) => {
    first[index] = n;
    n += rowsIn(of, machine);
  });
  const rows = Array.from({ length: n }, () => []);
  const order = of.start.map((_, bar) => bar).sort((a, b) => of.start[a] - of.start[b] || a - b);
  for (const bar of order) {
    const slots = of.slots[bar];
    for (const slot of Array.isArray(slots) ? slots : [slots]) rows[first[of.machine[bar]] + slot]?.push(bar);
  }
  return { rows, first };
}

/** The first bar of a row that ends after a time. */
function firstAfter(of, row, time) {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (endOf(of, row[middle]) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

class Timeline {
  constructor(onPick) {
    this.onPick = onPick;
    this.view = [0, data.axis];
    this.group = null;
    this.isCriticalOnly = false;
    this.picked = null;
    this.charts = ["plan", "run", "items", "busy"].flatMap((id) => {
      const canvas = document.getElementById(id);
      return canvas ? [this.chart(id, canvas)] : [];
    });
    if (this.charts.length === 0) return;
    this.tip = document.getElementById("tip");
    document.querySelectorAll("[data-zoom]").forEach((button) =>
      button.addEventListener("click", () => this.press(button.dataset.zoom)));
    document.querySelectorAll("[data-group]").forEach((button) =>
      button.addEventListener("click", () => this.single(Number(button.dataset.group))));
    const critical = document.querySelector("[data-critical]");
    critical.hidden = chain.bar.length === 0;
    critical.addEventListener("click", () => {
      this.isCriticalOnly = !this.isCriticalOnly;
      critical.setAttribute("aria-pressed", this.isCriticalOnly);
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(this.charts[0].canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.draw();
  }

  chart(id, canvas) {
    const of = id === "plan" ? plan : bars;
    const hasRows = id === "plan" || id === "run";
    const { rows, first } = hasRows ? rowsOf(of) : { rows: [], first: [] };
    const height = Math.max(2, Math.min(26, Math.floor(ROWS / Math.max(1, rows.length))));
    const apart = rows.length > 150 ? 2 : 4;
    const chart = { id, canvas, of, rows, first, row: height, apart, strip: id === "run" && chain.bar.length ? STRIP + 6 : 0 };
    chart.end = id === "plan" ? plan.start.reduce((end, _, bar) => Math.max(end, endOf(plan, bar)), 0) : data.until;
    const busy = machines.length > MACHINES_DRAWN ? 1 : machines.length;
    const drawn = id === "items" ? lanes.length * LANE : id === "busy" ? busy * (BUSY + 8) : chart.strip + rows.length * height + apart * (machines.length - 1);
    chart.height = AXIS + drawn + 2;
    canvas.style.height = `${chart.height}px`;
    this.listen(chart);
    return chart;
  }

  /** Where a row lies. */
  top(chart, row) {
    let machine = 0;
    while (machine + 1 < chart.first.length && chart.first[machine + 1] <= row) machine += 1;
    return AXIS + chart.strip + row * chart.row + chart.apart * machine;
  }

  // What is pressed, dragged and typed.

  press(what) {
    if (what === "in") this.zoom(0.5);
    else if (what === "out") this.zoom(2);
    else this.look(0, data.axis);
  }

  single(group) {
    this.group = this.group === group ? null : group;
    document.querySelectorAll("[data-group]").forEach((button) =>
      button.setAttribute("aria-pressed", Number(button.dataset.group) === this.group));
    this.draw();
  }

  /** Shows a part of the axis. */
  look(from, to) {
    const length = Math.max(20, Math.min(data.axis, to - from));
    from = Math.max(0, Math.min(data.axis - length, from));
    this.view = [from, from + length];
    this.draw();
  }

  zoom(factor, at = (this.view[0] + this.view[1]) / 2) {
    const [from, to] = this.view;
    this.look(at - (at - from) * factor, at + (to - at) * factor);
  }

  move(part) {
    const shift = (this.view[1] - this.view[0]) * part;
    this.look(this.view[0] + shift, this.view[1] + shift);
  }

  /** Picks an activity; seeks it where the view does not show it. */
  pick(activity, isSought) {
    this.picked = activity;
    if (activity !== null && isSought && this.charts.length) {
      const last = activities.last[activity];
      const [of, bar] = last >= 0 ? [bars, last] : [plan, activities.plan[activity]];
      if (bar >= 0) {
        const [from, to] = this.view;
        const [start, end] = [of.start[bar], endOf(of, bar)];
        const isThin = (end - start) * 400 < to - from;
        if (isThin || end < from || start > to) {
          const length = Math.max(end - start, 100) * 12;
          this.look((start + end - length) / 2, (start + end + length) / 2);
        }
        const place = this.charts[0].canvas.getBoundingClientRect();
        if (place.bottom < 0 || place.top > innerHeight) document.getElementById("timeline").scrollIntoView();
      }
    }
    this.draw();
  }

  listen(chart) {
    const { canvas } = chart;
    const held = new Map();
    let moved = 0;
    const local = (event) => {
      const place = canvas.getBoundingClientRect();
      return [event.clientX - place.left, event.clientY - place.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      held.set(event.pointerId, event.clientX);
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held.has(event.pointerId)) {
        this.hover(chart, event, ...local(event));
        return;
      }
      const before = [...held.values()];
      const shift = event.clientX - held.get(event.pointerId);
      held.set(event.pointerId, event.clientX);
      moved += Math.abs(shift);
      if (moved < 4 || shift === 0) return;
      // A press that stays one keeps its pointer; a drag may leave the chart.
      canvas.setPointerCapture(event.pointerId);
      canvas.classList.add("held");
      this.hide();
      const width = chart.width - chart.left;
      if (held.size === 1) this.move(-shift / width);
      else {
        const after = [...held.values()];
        const apart = ([a, b]) => Math.max(10, Math.abs(a - b));
        const middle = (after[0] + after[1]) / 2 - canvas.getBoundingClientRect().left;
        this.zoom(apart(before) / apart(after), this.time(chart, middle));
      }
    });
    const release = (event) => {
      held.delete(event.pointerId);
      canvas.classList.remove("held");
    };
    canvas.addEventListener("pointerup", (event) => {
      release(event);
      if (moved >= 4) return;
      const found = this.find(chart, ...local(event));
      this.onPick(found ? found.of.activity[found.bar] : null, "chart");
    });
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => this.hide());
    canvas.addEventListener("dblclick", (event) => this.zoom(0.4, this.time(chart, local(event)[0])));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) {
        if (Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
        event.preventDefault();
        this.move(event.deltaX / (chart.width - chart.left));
        return;
      }
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 120), this.time(chart, local(event)[0]));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const does = {
        ArrowLeft: () => this.move(-0.1), ArrowRight: () => this.move(0.1),
        "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.press("all"),
        ".": () => this.next(chart, 1), ",": () => this.next(chart, -1),
        Escape: () => this.onPick(null, "chart"),
      }[event.key];
      if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      does();
    });
  }

  /** Goes to the bar that begins next, or to the one before. */
  next(chart, step) {
    const { of } = chart;
    chart.order ??= of.start.map((_, bar) => bar).sort((a, b) => of.start[a] - of.start[b] || a - b);
    if (chart.order.length === 0) return;
    const at = chart.order.findIndex((bar) => of.activity[bar] === this.picked);
    const place = at < 0 ? 0 : Math.max(0, Math.min(chart.order.length - 1, at + step));
    this.onPick(of.activity[chart.order[place]], "keys");
  }

  time(chart, x) {
    const [from, to] = this.view;
    return from + (to - from) * (x - chart.left) / (chart.width - chart.left);
  }

  /** The bar at a place, and how many others share its pixel. */
  find(chart, x, y) {
    if (chart.id === "busy" || chart.id === "items" || x < chart.left - 2) return null;
    const near = (this.view[1] - this.view[0]) / (chart.width - chart.left) * 3;
    const time = this.time(chart, x);
    let row = null;
    if (chart.strip && y >= AXIS && y < AXIS + STRIP) row = chain.bar;
    else {
      const place = chart.rows.findIndex((_, at) => {
        const top = this.top(chart, at);
        return y >= top && y < top + chart.row;
      });
      row = chart.rows[place];
    }
    if (!row) return null;
    const { of } = chart;
    let [best, least, n] = [null, Infinity, 0];
    for (let at = firstAfter(of, row, time - near); at < row.length && of.start[row[at]] <= time + near; at += 1) {
      const bar = row[at];
      const far = Math.max(of.start[bar] - time, time - endOf(of, bar), 0);
      n += 1;
      if (far < least) [best, least] = [bar, far];
    }
    return best === null ? null : { of, bar: best, n };
  }

  hover(chart, event, x, y) {
    const found = event.pointerType === "touch" ? null : this.find(chart, x, y);
    chart.canvas.style.cursor = found ? "pointer" : "";
    if (!found) {
      this.hide();
      return;
    }
    const { of, bar, n } = found;
    const activity = of.activity[bar];
    const lines = [element("b", {}, activities.name[activity])];
    const say = (text) => lines.push(element("div", {}, text));
    if (of === bars) {
      const number = bars.number[bar] > 1 ? `, try ${bars.number[bar]}` : "";
      say(`${bars.states[bars.state[bar]]}${number}, ${span(bars.wall[bar])} from ${moment(bars.start[bar])}`);
      if (!running.has(bar)) say(`CPU ${span(bars.cpu[bar])}${bars.memory[bar] ? `, ${size(bars.memory[bar])}` : ""}`);
    } else if (!plan.isOrderOnly) {
      say(`planned ${span(plan.wall[bar])} from ${moment(plan.start[bar])}`);
    }
    say(slotName(of, bar));
    if (of === bars && onChain.has(bar)) say("on the critical path");
    if (n > 3) say(`and ${n - 1} more here: zoom in`);
    this.tip.replaceChildren(...lines);
    this.tip.hidden = false;
    const [width, height] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const left = Math.min(event.clientX + 14, innerWidth - width - 8);
    const top = event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18;
    this.tip.style.left = `${Math.max(8, left)}px`;
    this.tip.style.top = `${Math.max(8, top)}px`;
  }

  hide() {
    this.tip.hidden = true;
  }

  // Drawing.

  draw() {
    if (this.charts.length === 0) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colours = Object.fromEntries(["card", "ink", "soft", "line", "faint", "accent", "bad"].map((name) => [name, colour(name)]));
    this.groups = data.groups.map((_, group) => colour(colourName(group)));
    this.font = getComputedStyle(document.body).fontFamily;
    for (const chart of this.charts) this.paint(chart);
    const [from, to] = this.view;
    const isAll = to - from >= data.axis;
    document.getElementById("range").textContent = isAll
      ? `all ${span(data.axis)}` : `${point(from, (to - from) / 100)} to ${point(to, (to - from) / 100)} of ${span(data.axis)}`;
  }

  paint(chart) {
    const { canvas, height } = chart;
    const width = canvas.clientWidth;
    if (width === 0) return;
    const scale = window.devicePixelRatio || 1;
    chart.width = width - 1;
    chart.left = width < 560 ? 44 : 112;
    const [pixelsWide, pixelsHigh] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== pixelsWide || canvas.height !== pixelsHigh) [canvas.width, canvas.height] = [pixelsWide, pixelsHigh];
    const c = canvas.getContext("2d");
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    c.textBaseline = "middle";
    const x = (time) => chart.left + (chart.width - chart.left) * (time - this.view[0]) / (this.view[1] - this.view[0]);
    this.axis(c, chart, x);
    c.save();
    c.beginPath();
    c.rect(chart.left, 0, chart.width - chart.left + 1, height);
    c.clip();
    if (chart.id === "busy") this.busy(c, chart, x);
    else if (chart.id === "items") this.lanes(c, chart, x);
    else {
      if (chart.strip) this.strip(c, chart, x);
      chart.rows.forEach((row, place) => this.bars(c, chart, x, row, this.top(chart, place), chart.row));
      if (chart.id === "run") this.marks(c, chart, x);
    }
    c.restore();
    this.names(c, chart);
  }

  /** Lines of time, and what lies behind the end. */
  axis(c, chart, x) {
    const [from, to] = this.view;
    const wanted = (to - from) / Math.max(2, (chart.width - chart.left) / 90);
    const step = STEPS.find((one) => one >= wanted) ?? wanted;
    c.font = `12px ${this.font}`;
    c.textAlign = "center";
    c.lineWidth = 1;
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const px = Math.round(x(at)) + 0.5;
      c.strokeStyle = this.colours.line;
      c.beginPath();
      c.moveTo(px, AXIS - 4);
      c.lineTo(px, chart.height);
      c.stroke();
      const text = point(at, step);
      const half = c.measureText(text).width / 2;
      c.fillStyle = this.colours.soft;
      c.fillText(text, Math.max(chart.left + (at === 0 ? half : 0), Math.min(chart.width - half, px)), 9);
    }
    if (chart.end < to) {
      const left = Math.max(chart.left, x(chart.end));
      c.fillStyle = this.colours.faint;
      c.fillRect(left, AXIS, chart.width - left, chart.height);
    }
  }

  /** The bars of a row. */
  bars(c, chart, x, row, top, height, isStrip = false) {
    const { of } = chart;
    const [from, to] = this.view;
    const gap = height >= 12 ? 3 : height >= 6 ? 1 : 0;
    const [y, tall] = [top + gap / 2, height - gap];
    const isRun = of === bars;
    const thin = new Thin(c, y, tall, this.groups);
    const isFaint = (bar) => {
      const activity = of.activity[bar];
      return (this.group !== null && activities.group[activity] !== this.group)
        || (this.isCriticalOnly && !isStrip && isRun && !onChain.has(bar));
    };
    for (let at = firstAfter(of, row, from); at < row.length && of.start[row[at]] < to; at += 1) {
      const bar = row[at];
      const [left, right] = [x(of.start[bar]), x(endOf(of, bar))];
      const group = activities.group[of.activity[bar]];
      const wide = right - left;
      const isPicked = of.activity[bar] === this.picked;
      const isFailed = isRun && failed.has(bar);
      if (wide < 1.5 && !isPicked && !isFailed) {
        if (!isFaint(bar)) thin.add(left, right, group);
        continue;
      }
      c.globalAlpha = isFaint(bar) && !isPicked ? 0.13 : 1;
      c.fillStyle = this.groups[group];
      const body = Math.max(1.5, wide - (wide > 5 ? 1 : 0));
      c.fillRect(left, y, body, tall);
      if (isRun && open.has(bar)) this.hatch(c, left, y, body, tall, this.colours.card);
      if (isPicked) this.ring(c, left - 2, y - 2, body + 4, tall + 4, 3);
      else if (isRun && !isStrip && onChain.has(bar) && body >= 6 && tall >= 7) this.ring(c, left, y, body, tall, 1.5);
      if (isFailed && !isStrip) this.fault(c, left, y, body, tall);
      if (tall >= 12 && wide > 30 && !isStrip && c.globalAlpha === 1) this.label(c, of.activity[bar], Math.max(left, chart.left), y + tall / 2, right - (isFailed && wide >= 40 ? 18 : 0), this.groups[group]);
      c.globalAlpha = 1;
    }
    thin.end();
  }

  /** A frame that is seen on every colour. */
  ring(c, left, y, wide, tall, line) {
    this.frame(c, left, y, wide, tall, this.colours.ink, line);
    this.frame(c, left + line, y + line, wide - 2 * line, tall - 2 * line, this.colours.card, line / 1.5);
  }

  frame(c, left, y, wide, tall, colour, line) {
    c.lineWidth = line;
    c.strokeStyle = colour;
    c.strokeRect(left + line / 2, y + line / 2, Math.max(0, wide - line), Math.max(0, tall - line));
  }

  /** A try that failed: its frame, and a cross where there is room. */
  fault(c, left, y, wide, tall) {
    if (wide < 6) {
      c.fillStyle = this.colours.bad;
      c.fillRect(left, y, Math.max(3, wide), tall);
      return;
    }
    this.frame(c, left, y, wide, tall, this.colours.bad, 3);
    const half = Math.min(5, tall / 2 - 3);
    if (wide < 40 || half < 2) return;
    const [x, middle] = [left + wide - 11, y + tall / 2];
    c.fillStyle = this.colours.bad;
    c.fillRect(left + wide - 20, y, 20, tall);
    c.strokeStyle = this.colours.card;
    c.lineWidth = 2;
    c.beginPath();
    c.moveTo(x - half, middle - half);
    c.lineTo(x + half, middle + half);
    c.moveTo(x - half, middle + half);
    c.lineTo(x + half, middle - half);
    c.stroke();
  }

  hatch(c, left, y, wide, tall, colour) {
    c.save();
    c.beginPath();
    c.rect(left, y, wide, tall);
    c.clip();
    c.globalAlpha *= 0.5;
    c.strokeStyle = colour;
    c.lineWidth = 2;
    c.beginPath();
    const to = Math.min(left + wide, this.charts[0].width);
    for (let at = Math.max(left, 0) - tall - (Math.max(left, 0) % 8); at < to; at += 8) {
      c.moveTo(at, y + tall);
      c.lineTo(at + tall, y);
    }
    c.stroke();
    c.restore();
  }

  label(c, activity, left, middle, right, colour) {
    const room = right - left - 10;
    if (room < 20) return;
    c.font = `12px ${this.font}`;
    c.textAlign = "left";
    let text = activities.name[activity];
    const wide = c.measureText(text).width;
    if (wide > room) {
      // What differs stands at the end more often than at the beginning.
      const n = Math.floor(text.length * room / wide) - 1;
      if (n < 7) return;
      const head = Math.ceil(n * 0.6);
      text = `${text.slice(0, head)}…${text.slice(text.length - (n - head))}`;
    }
    c.fillStyle = colour;
    c.fillRect(left + 3, middle - 7, Math.min(room, c.measureText(text).width) + 4, 14);
    c.fillStyle = isBright(colour) ? "#101317" : "#ffffff";
    c.fillText(text, left + 5, middle + 0.5);
  }

  /** The critical path as one line: what ran, and where nothing of it did. */
  strip(c, chart, x) {
    const last = chain.bar[chain.bar.length - 1];
    const [left, right] = [x(0), x(endOf(bars, last))];
    c.fillStyle = this.colours.faint;
    c.fillRect(left, AXIS, right - left, STRIP);
    this.bars(c, chart, x, chain.bar, AXIS, STRIP + 1, true);
  }

  /** Lines from step to step of the critical path, while they can be told apart. */
  marks(c, chart, x) {
    if (chart.row < 6) return;
    const [from, to] = this.view;
    const seen = chain.bar.filter((bar) => endOf(bars, bar) >= from && bars.start[bar] <= to);
    if (seen.length > 80) return;
    const middle = (bar) => {
      const slots = bars.slots[bar];
      const slot = Array.isArray(slots) ? slots[0] : slots;
      return this.top(chart, chart.first[bars.machine[bar]] + slot) + chart.row / 2;
    };
    c.strokeStyle = this.colours.ink;
    c.lineWidth = 1.5;
    c.beginPath();
    for (let step = 1; step < chain.bar.length; step += 1) {
      const [one, other] = [chain.bar[step - 1], chain.bar[step]];
      if (endOf(bars, one) < from || bars.start[other] > to) continue;
      c.moveTo(x(endOf(bars, one)), middle(one));
      c.lineTo(x(bars.start[other]), middle(other));
    }
    c.stroke();
  }

  /** Slots in use over time, a mean for each pixel. */
  busy(c, chart, x) {
    const lines = machines.length > MACHINES_DRAWN ? [sumOf(machines)] : machines;
    lines.forEach((machine, place) => {
      const bottom = AXIS + place * (BUSY + 8) + BUSY;
      const high = (n) => bottom - (BUSY - 4) * Math.min(1, n / Math.max(1, machine.slots));
      c.strokeStyle = this.colours.line;
      c.setLineDash([3, 3]);
      c.beginPath();
      c.moveTo(chart.left, high(machine.slots));
      c.lineTo(chart.width, high(machine.slots));
      c.stroke();
      c.setLineDash([]);
      this.area(c, chart, x, machine, bottom, high, this.colours.accent, 0.3);
    });
  }

  /** Slots that the items of each activity hold, a lane each. */
  lanes(c, chart, x) {
    lanes.forEach((items, place) => {
      const bottom = AXIS + (place + 1) * LANE - 3;
      const most = items.held.reduce((a, b) => Math.max(a, b), 1);
      const isFaint = this.group !== null && this.group !== items.group;
      this.area(c, chart, x, items, bottom, (n) => bottom - (LANE - 6) * n / most, this.groups[items.group], isFaint ? 0.13 : 0.7);
    });
  }

  /** Held slots over time as an area, a mean for each pixel. */
  area(c, chart, x, line, bottom, high, colour, strength) {
    const [first, end] = [Math.max(chart.left, Math.floor(x(0))), Math.min(chart.width, x(data.until))];
    if (end <= first) return;
    c.beginPath();
    c.moveTo(first, bottom);
    const mean = meanOf(line);
    for (let px = first; px < end; px += 1) {
      const n = mean(this.time(chart, px), this.time(chart, Math.min(end, px + 1)));
      c.lineTo(px, high(n));
      c.lineTo(Math.min(end, px + 1), high(n));
    }
    c.lineTo(end, bottom);
    c.closePath();
    c.globalAlpha = strength;
    c.fillStyle = colour;
    c.fill();
    c.globalAlpha = Math.min(1, strength * 3);
    c.strokeStyle = colour;
    c.lineWidth = 1;
    c.stroke();
    c.globalAlpha = 1;
  }

  /** What the rows are. */
  names(c, chart) {
    c.textAlign = "right";
    c.fillStyle = this.colours.soft;
    const isNarrow = chart.left < 100;
    const room = chart.left - 8;
    const write = (text, y, isBold = false) => {
      c.font = `${isBold ? "600 " : ""}12px ${this.font}`;
      while (text.length > 1 && c.measureText(text).width > room) text = text.endsWith("…") ? `${text.slice(0, -2)}…` : `${text.slice(0, -1)}…`;
      c.fillText(text, chart.left - 6, y);
    };
    if (chart.id === "busy") {
      const lines = machines.length > MACHINES_DRAWN ? [sumOf(machines)] : machines;
      lines.forEach((machine, place) => {
        const top = AXIS + place * (BUSY + 8);
        if (!isNarrow) write(machine.name, top + BUSY / 2, true);
        write(String(machine.slots), top + 6);
        write("0", top + BUSY - 4);
      });
      return;
    }
    if (chart.id === "items") {
      lanes.forEach((items, place) => write(items.name, AXIS + (place + 0.5) * LANE));
      return;
    }
    if (chart.strip) write(isNarrow ? "path" : "critical path", AXIS + STRIP / 2);
    machines.forEach((machine, index) => {
      const top = this.top(chart, chart.first[index]);
      const n = rowsIn(chart.of, machine);
      if (chart.row < 14 || isNarrow) {
        if (n * chart.row >= 12 && !isNarrow) write(machine.name, top + Math.max(7, chart.row / 2));
        else if (chart.row >= 12) for (let slot = 0; slot < n; slot += 1) write(`${slot}`, top + (slot + 0.5) * chart.row);
        return;
      }
      for (let slot = 0; slot < n; slot += 1) {
        write(slot === 0 ? `${machine.name} ${slot}` : `${slot}`, top + (slot + 0.5) * chart.row);
      }
    });
  }
}
