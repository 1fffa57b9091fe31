
// ---- The machine that the page is served by.

/** Readings that are kept for the chart of pressure. */
const MOST_READINGS = 150;

/** Whether there is one: the server lets the page ask it, a page from a disk may ask nobody. */
const isServed = () => document.querySelector("meta[http-equiv]").content.includes("connect-src 'self'");

const inSvg = (name, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...children);
  return made;
};

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function inBytes(count) {
  const power = count < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(count) / 10));
  const value = count / 2 ** (10 * power);
  return `${value >= 100 || power === 0 ? value.toFixed(0) : value.toPrecision(3)} ${UNITS[power]}`;
}

/** A level against marks, from nothing to `most`; what is beyond is the full width. */
function line({ name, level, marks, most, words }) {
  const at = (value) => (100 * Math.max(0, Math.min(1, value / most))).toFixed(2);
  const bar = inSvg("svg", { class: "line", role: "img", viewBox: "0 0 100 10", preserveAspectRatio: "none" });
  bar.setAttribute("aria-label", `${name}: ${words}`);
  bar.append(inSvg("rect", { class: "level", x: 0, y: 2, width: at(level), height: 6 }));
  marks.forEach(([, value]) => bar.append(inSvg("path", { class: "mark", d: `M${at(value)} 0V10` })));
  const below = marks.map(([mark, value]) => `${mark} ${inBytes(value)}`).join(" · ");
  return element("div", {},
    element("p", { className: "line-name" }, element("strong", { textContent: name }), ` ${words}`),
    bar, element("p", { className: "note", textContent: below }));
}

function zone({ machine, nodes }, it) {
  const bytes = (pages) => pages * machine.page_size;
  const level = bytes(it.against_marks_pages);
  const high = bytes(it.high_pages);
  const words = level > high
    ? `${inBytes(level - high)} above the high mark`
    : `${inBytes(high - level)} below the high mark: kswapd has work`;
  const name = nodes?.length > 1 ? `${it.name}, node ${it.node}` : it.name;
  const marks = [["min", bytes(it.min_pages)], ["low", bytes(it.low_pages)], ["high", high]];
  return line({ name, level, marks, most: 4 * high, words });
}

function dirty({ machine, dirty: it }) {
  if (!it?.limit || !it.background) return [];
  const bytes = (pages) => pages * machine.page_size;
  const [background, limit] = [bytes(it.background.pages), bytes(it.limit.pages)];
  const level = bytes((it.dirty_pages ?? 0) + (it.writeback_pages ?? 0));
  const marks = [["background", background], ["throttled", (background + limit) / 2], ["limit", limit]];
  const words = `${inBytes(level)} dirty or under writeback`;
  return [line({ name: "Dirty", level, marks, most: limit, words })];
}

const waits = { memory: [], io: [] };

/** The share of the last minutes in which somebody waited. */
function pressure({ pressure: all }) {
  const of = (resource) => all?.find((it) => it.resource === resource)?.some?.interval;
  for (const [resource, past] of Object.entries(waits)) {
    const share = of(resource);
    if (share !== undefined && share !== null) past.push(share);
    if (past.length > MOST_READINGS) past.shift();
  }
  if (waits.memory.length + waits.io.length === 0) return [];
  const most = Math.max(0.05, ...waits.memory, ...waits.io);
  const path = (past) => past.map((share, at) =>
    `${at === 0 ? "M" : "L"}${(at * 300) / (MOST_READINGS - 1)} ${58 - (55 * share) / most}`).join("");
  const last = Object.entries(waits).filter(([, past]) => past.length > 0)
    .map(([resource, past]) => `${resource} ${(100 * past.at(-1)).toFixed(1)} %`).join(", ");
  const chart = inSvg("svg", { class: "pressure", role: "img", viewBox: "0 0 300 60", preserveAspectRatio: "none" });
  chart.setAttribute("aria-label", `Pressure: ${last}`);
  Object.entries(waits).forEach(([resource, past]) =>
    chart.append(inSvg("path", { class: resource, d: path(past) })));
  const words = `some tasks waited: ${last} (solid: memory, dashed: io; the top is ${(100 * most).toFixed(0)} %)`;
  return [element("div", {},
    element("p", { className: "line-name" }, element("strong", { textContent: "Pressure" }), ` ${words}`), chart)];
}

let latest = null;
let busy = false;
let paused = false;

async function reading(capture) {
  latest = { name: "this", capture };
  // The model may be at work for another question: what came meanwhile is left out.
  if (busy || paused) return;
  busy = true;
  try {
    const bytes = new TextEncoder().encode(capture);
    const { text: words, view } = JSON.parse(await ask({ verb: "live", width: columns() }, bytes));
    const zones = (view.zones ?? []).filter(({ managed_pages: pages }) => pages > 0);
    by("live-lines").replaceChildren(...zones.map((it) => zone(view, it)), ...dirty(view), ...pressure(view));
    by("live-text").textContent = words;
    by("live-status").textContent = `${view.machine.kernel ?? "This machine"}, live.`;
  } catch (error) {
    by("live-status").textContent = `${error.message}.`;
  }
  busy = false;
}

function listenToMachine() {
  if (!isServed()) return;
  by("live").hidden = false;
  const events = new EventSource("live");
  events.addEventListener("message", ({ data }) => reading(JSON.parse(data)));
  events.addEventListener("error", () => {
    by("live-status").textContent = events.readyState === EventSource.CLOSED
      ? "The server has no place for one more, or has ended; load the page again."
      : "The server does not answer; it is asked again.";
  });
  const atMoment = (act) => () => latest && act({ ...latest, name: `this at ${new Date().toLocaleTimeString()}` });
  by("live-pause").addEventListener("click", ({ target }) => {
    paused = !paused;
    target.textContent = paused ? "Go on" : "Pause";
  });
  by("live-look").addEventListener("click", atMoment(({ name, capture }) =>
    look(name, new TextEncoder().encode(capture))));
  by("live-keep").addEventListener("click", atMoment((moment) => {
    kept = moment;
    by("live-status").textContent = `Kept: what is looked at next is compared with ${moment.name}.`;
  }));
  by("live-ask").addEventListener("click", () => latest && askFor(latest));
}
