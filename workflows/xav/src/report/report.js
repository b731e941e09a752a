// The page put together: tables, filters, details, and what is pressed.

const REASONS = ["nothing", "after ", "the slot of ", "its try before"];
const STATES_ORDER = ["faulted", "running", "sent", "interrupted", "backoff", "ready", "waiting", "stopped", "not run", "reused", "completed"];

const tables = [];
const nameButton = (activity) => {
  const button = element("button", { type: "button", title: activities.name[activity] }, activities.name[activity]);
  button.addEventListener("click", () => pick(activity, "table"));
  return button;
};
const named = (activity) => {
  const content = document.createDocumentFragment();
  content.append(swatch(activity), nameButton(activity));
  return content;
};
const stateName = (activity) => activities.states[activities.state[activity]];
const stateCell = (word) => element("span", { className: `word-${word.replace(" ", "-")}` }, word);
const orNull = (place) => (place < 0 ? null : place);
const lastOf = (activity) => orNull(activities.last[activity]);
const planOf = (activity) => orNull(activities.plan[activity]);
const isEnded = (bar) => bar !== null && !running.has(bar);

/** A column of the last attempt, or of the recorded outcome that stands for it. */
function measured(title, column, place, show) {
  const value = (activity) => {
    if (reused.has(activity)) return reused.get(activity)[place];
    const bar = lastOf(activity);
    return isEnded(bar) ? column(bar) : null;
  };
  return { title, value, cell: (activity) => (value(activity) === null ? "" : show(value(activity))) };
}

/** A column of a point of time. */
function timed(title, value) {
  return { title, value, cell: (row) => (value(row) === null ? "" : moment(value(row))) };
}

const ofBar = (of, place, value) => (place === null ? null : value(of, place));
const startOf = (of, place) => of.start[place];

const columns = [
  { title: "Activity", isText: true, value: (a) => activities.name[a], cell: named },
  { title: "State", isText: true, value: (a) => STATES_ORDER.indexOf(stateName(a)), cell: (a) => stateCell(stateName(a)) },
  timed("Planned start", (a) => (plan.isOrderOnly ? null : ofBar(plan, planOf(a), startOf))),
  timed("Start", (a) => ofBar(bars, lastOf(a), startOf)),
  timed("Planned end", (a) => (plan.isOrderOnly ? null : ofBar(plan, planOf(a), endOf))),
  timed("End", (a) => (isEnded(lastOf(a)) ? endOf(bars, lastOf(a)) : null)),
  measured("Wall", (bar) => bars.wall[bar], 1, span),
  measured("CPU", (bar) => bars.cpu[bar], 2, span),
  measured("Peak memory", (bar) => bars.memory[bar], 3, size),
  {
    title: "Machine", isText: true,
    value: (a) => (lastOf(a) === null ? null : slotName(bars, lastOf(a))),
    cell: (a) => (lastOf(a) === null ? "" : slotName(bars, lastOf(a))),
  },
  { title: "Tries", value: (a) => activities.tries[a], cell: (a) => String(activities.tries[a] || "") },
  measured("Exit", exitOf, 4, (code) => (code === null ? "" : String(code))),
  { title: "Controller", isText: true, value: (a) => data.paths[activities.path[a]], cell: (a) => data.paths[activities.path[a]] },
];
if (plan.isOrderOnly) columns.splice(0, columns.length, ...columns.filter(({ title }) => !title.startsWith("Planned")));
if (data.paths.every((path) => !path)) columns.pop();

const main = new Table(document.getElementById("table"), "Activities", columns, activities.name.length);
tables.push(main);
main.sort(columns.findIndex(({ title }) => title === "Start"));

const steps = document.getElementById("chain");
if (steps) {
  const barOf = (step) => chain.bar[step];
  const activityOf = (step) => bars.activity[barOf(step)];
  const waited = (step) => {
    const before = chain.of[step];
    const reason = REASONS[chain.reason[step]];
    return chain.reason[step] === 1 || chain.reason[step] === 2
      ? reason + activities.name[bars.activity[before]] : reason;
  };
  const table = new Table(steps, "Critical path", [
    { title: "Activity", isText: true, value: (step) => activities.name[activityOf(step)], cell: (step) => named(activityOf(step)) },
    timed("Start", (step) => bars.start[barOf(step)]),
    { title: "Ran for", value: (step) => bars.wall[barOf(step)], cell: (step) => span(bars.wall[barOf(step)]) },
    { title: "Of the whole", value: (step) => bars.wall[barOf(step)], cell: (step) => `${(100 * bars.wall[barOf(step)] / Math.max(1, data.until)).toFixed(1)} %` },
    { title: "Time before it", value: (step) => chain.wait[step], cell: (step) => span(chain.wait[step]) },
    { title: "Waited for", isText: true, value: waited, cell: waited },
    { title: "Machine", isText: true, value: (step) => slotName(bars, barOf(step)), cell: (step) => slotName(bars, barOf(step)) },
  ], chain.bar.length);
  tables.push(table);
}

// Filters.
const form = document.getElementById("filters");
const ofItems = form.elements.items;
if (ofItems) {
  data.items.forEach((items, place) => ofItems.append(element("option", { value: String(place) }, items.name)));
  document.querySelectorAll("[data-items]").forEach((button) => button.addEventListener("click", () => {
    ofItems.value = button.dataset.items;
    filter();
    form.scrollIntoView();
  }));
}
const ofStep = form.elements.step;
if (ofStep) {
  data.steps.forEach((step, place) => ofStep.append(element("option", { value: String(place) }, step)));
  document.querySelectorAll("[data-step]").forEach((step) => step.addEventListener("click", () => {
    ofStep.value = step.dataset.step;
    filter();
    form.scrollIntoView();
  }));
}
const tally = new Map();
activities.state.forEach((state) => tally.set(state, (tally.get(state) || 0) + 1));
[...tally].sort(([a], [b]) => STATES_ORDER.indexOf(activities.states[a]) - STATES_ORDER.indexOf(activities.states[b]))
  .forEach(([state, n]) => form.elements.state.append(element("option", { value: String(state) }, `${activities.states[state]} (${n})`)));
function filter() {
  const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const state = form.elements.state.value;
  const items = ofItems ? ofItems.value : "";
  const step = ofStep ? ofStep.value : "";
  main.filter((activity) => {
    if (state !== "" && String(activities.state[activity]) !== state) return false;
    if (items !== "" && String(activities.items[activity]) !== items) return false;
    if (step !== "" && String(activities.step[activity]) !== step) return false;
    if (words.length === 0) return true;
    const bar = lastOf(activity);
    const text = [activities.name[activity], data.paths[activities.path[activity]], stateName(activity),
      bar === null ? "" : machines[bars.machine[bar]].name].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const n = main.shown.length;
  document.getElementById("found").textContent =
    n === activities.name.length ? count(n, "activity", "activities") : `${n.toLocaleString("en")} of ${count(activities.name.length, "activity", "activities")}`;
}
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());

/** Everything about one activity, below the charts. */
function describe(activity) {
  const details = document.getElementById("details");
  if (!details) return;
  if (activity === null) {
    details.hidden = true;
    return;
  }
  const pairs = [["State", stateName(activity)]];
  const path = data.paths[activities.path[activity]];
  if (path) pairs.push(["Controller", path]);
  const told = data.told[activities.told[activity]] || [];
  const written = data.written[activities.written[activity]] || [];
  const isTold = (label) => told.some(([one]) => one === label);
  pairs.push(...told, ...written.map(([label, text]) => [isTold(label) ? `${label}, as written` : label, text]));
  const planned = planOf(activity);
  if (planned !== null) {
    const where = slotName(plan, planned);
    pairs.push(["Planned", plan.isOrderOnly ? where : `${moment(plan.start[planned])} to ${moment(endOf(plan, planned))}, ${where}`]);
  }
  if (reused.has(activity)) {
    const [of, wall, cpu, memory] = reused.get(activity);
    pairs.push(["Not run: the outcome stands of", of], ["That took", `${span(wall)}, CPU ${span(cpu)}, ${size(memory) || "no memory measured"}`]);
  }
  const close = element("button", { type: "button" }, "Close");
  close.addEventListener("click", () => pick(null, "details"));
  const content = [close, element("h3", {}, swatch(activity), activities.name[activity]), facts(pairs)];
  const tries = attemptsOf.get(activity) || [];
  if (tries.length) {
    const heads = ["Try", "State", "Start", "Ran for", "CPU", "Peak memory", "Exit", "Pid", "Where"];
    const rows = tries.map((bar) => {
      const exit = exitOf(bar);
      return element("tr", {}, ...[
        String(bars.number[bar]), stateCell(bars.states[bars.state[bar]]), moment(bars.start[bar]), span(bars.wall[bar]),
        isEnded(bar) ? span(bars.cpu[bar]) : "", isEnded(bar) ? size(bars.memory[bar]) : "",
        exit === null || running.has(bar) ? "" : String(exit), bars.pid[bar] ? String(bars.pid[bar]) : "", slotName(bars, bar),
      ].map((cell) => element("td", {}, cell)));
    });
    content.push(element("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": "Tries" }, element("table", {},
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, ...rows))));
  }
  details.replaceChildren(...content);
  details.hidden = false;
}

/** Picks an activity, in charts and tables alike. */
function pick(activity, from) {
  describe(activity);
  timeline.pick(activity, from !== "chart");
  main.pick(activity, from === "chart");
}

const timeline = new Timeline(pick);

// Paper is light, whatever the screen is, and shows whole tables.
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printed");
  tables.forEach((table) => table.draw(true));
  timeline.draw();
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printed");
  tables.forEach((table) => {
    table.from = -1;
    table.draw();
  });
  timeline.draw();
});
