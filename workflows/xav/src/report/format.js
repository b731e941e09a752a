// Reading the data, and numbers as people read them. Times are microseconds since the submission.

const data = JSON.parse(document.getElementById("data").textContent);
const { activities, bars, plan, chain, machines } = data;

// A column in which all is the same is told as one value.
for (const table of [activities, bars, plan]) {
  for (const [name, column] of Object.entries(table)) {
    if (column !== null && typeof column === "object" && !Array.isArray(column)) table[name] = Array(column.n).fill(column.all);
  }
}

/** Lists of [index, value...] as a map. */
const byIndex = (list) => new Map(list.map(([index, ...rest]) => [index, rest]));
const exits = byIndex(bars.exits);
const reused = byIndex(activities.reused);
const running = new Set(bars.isRunning);
const failed = new Set(bars.hasFailed);
/** What gave no result: it still runs, or was stopped. */
const open = new Set([...bars.isRunning, ...bars.wasStopped]);
const onChain = new Set(chain.bar);

/** All attempts of an activity that started, by their start. */
const attemptsOf = new Map();
bars.activity.forEach((activity, bar) => {
  if (!attemptsOf.has(activity)) attemptsOf.set(activity, []);
  attemptsOf.get(activity).push(bar);
});

const exitOf = (bar) => (exits.has(bar) ? exits.get(bar)[0] : 0);
const endOf = (of, bar) => of.start[bar] + of.wall[bar];

/** A length of time, as the command line shows it: `340ms`, `12.3s`, `4m 05s`, `2h 07m`. */
function span(us) {
  const two = (n) => String(n).padStart(2, "0");
  const seconds = Math.floor(us / 1e6);
  if (us < 1e3) return `${Math.round(us)}µs`;
  if (us < 1e6) return us < 1e4 ? `${(us / 1e3).toFixed(1)}ms` : `${Math.floor(us / 1e3)}ms`;
  if (us < 6e7) return `${(us / 1e6).toFixed(us < 1e7 ? 2 : 1)}s`;
  if (us < 3.6e9) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
}

/** A point of the axis, as exact as `step` asks for. */
function point(us, step) {
  const seconds = us / 1e6;
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / 1e6) - 1e-9)));
  if (seconds < 60 || step < 1e6) return `${seconds.toFixed(digits)}s`;
  const whole = Math.round(seconds);
  const two = (n) => String(n).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${two(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

/** A point of time in tables: three digits, or whole seconds in a run of hours. */
const moment = (us) => point(us, data.axis < 6e8 ? 1e3 : 1e6);

function size(bytes) {
  if (!bytes) return "";
  const names = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  while (bytes >= 1024 && place + 1 < names.length) {
    bytes /= 1024;
    place += 1;
  }
  return `${place ? bytes.toFixed(1) : bytes} ${names[place]}`;
}

const count = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** An element with text; nothing of the data is ever taken as markup. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Labels with their values. */
const facts = (pairs) => element("dl", { className: "facts" },
  ...pairs.map(([label, value]) =>
    element("div", {}, element("dt", {}, label), element("dd", {}, value))));

const isRest = (group) => data.hasOthers && group === data.groups.length - 1;
const colourName = (group) => (isRest(group) ? "rest" : `g${group}`);
const swatch = (activity) =>
  element("span", { className: `swatch ${colourName(activities.group[activity])}` });

const slotName = (of, bar) => {
  const slots = of.slots[bar];
  const machine = machines[of.machine[bar]].name;
  if (!Array.isArray(slots)) return `${machine}, slot ${slots}`;
  return slots.length > 8 ? `${machine}, ${slots.length} slots` : `${machine}, slots ${slots.join(", ")}`;
};
