// The page: fields that make a question, and the answer that the model gives to it.

const by = (id) => document.getElementById(id);
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

// ---- The model, in a worker.

const waiting = new Map();
let numbers = 0;

async function module() {
  const text = by("model").textContent.trim();
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(plain).arrayBuffer());
}

async function started() {
  const source = new Blob([by("worker").textContent], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(source));
  worker.addEventListener("message", ({ data }) => {
    const { answered, refused } = waiting.get(data.number);
    waiting.delete(data.number);
    if (data.error === undefined) answered(data.answer);
    else refused(new Error(data.error));
  });
  worker.addEventListener("error", (event) => {
    const why = new Error(`the model does not start: ${event.message ?? "the browser refuses"}`);
    waiting.forEach(({ refused }) => refused(why));
    waiting.clear();
  });
  worker.postMessage({ module: await module() });
  return worker;
}

const worker = started();

async function ask(question) {
  const number = (numbers += 1);
  (await worker).postMessage({ number, question });
  return new Promise((answered, refused) => waiting.set(number, { answered, refused }));
}

// ---- The question: what the fields say. Its keys are the options of `plimsoll predict`.

let study = null;
let offer = null;
/** The text of a study's file; null for a built-in one. */
let text = null;

const checked = () => [...by("arms").querySelectorAll("input:checked")].map((box) => box.value);

function settings() {
  const fields = [...by("tunables").querySelectorAll("[data-tunable]")];
  const set = fields.filter((field) => field.value.trim() !== "");
  return set.map((field) => `${field.dataset.tunable}=${field.value.trim()}`);
}

function asked() {
  const number = (id, own) => (by(id).value && Number(by(id).value) !== own ? by(id).value : null);
  const memory = number("memory", study.memory_mib);
  const arms = checked();
  if (arms.length === 0) throw new Error("choose at least one arm");
  return {
    study: text === null ? study.name : study.file,
    text,
    arms: arms.length === study.arms.length ? [] : arms,
    set: settings(),
    memory: memory && `${memory}M`,
    cpus: Number(number("cpus", study.cpus)) || null,
    disk: by("disk").value || null,
    kernel: by("kernel").value || null,
    repetitions: Math.max(1, Number(by("repetitions").value) || 1),
  };
}

const quoted = (word) => (/^[\w./=:,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

function command(question) {
  const { study: name, arms, set, memory, cpus, disk, kernel, repetitions } = question;
  const words = ["plimsoll", "predict", name];
  arms.forEach((arm) => words.push("--arm", arm));
  set.forEach((setting) => words.push("--set", setting));
  Object.entries({ memory, cpus, disk, kernel, repetitions }).forEach(([option, value]) => {
    if (value !== null) words.push(`--${option}`, String(value));
  });
  return words.map(quoted).join(" ");
}

function fragment(question) {
  const pairs = Object.entries(question).flatMap(([key, value]) =>
    [value].flat().filter((it) => it !== null).map((it) => [key, String(it)]));
  return `#${new URLSearchParams(pairs)}`;
}

// ---- Fields of a study.

const option = (value, label) => element("option", { value, textContent: label });

function armBox(arm, wanted) {
  const set = arm.settings.map((pair) => pair.join(" = ")).join(", ");
  const box = element("input", { type: "checkbox", value: arm.name, checked: wanted });
  const words = element("span", {}, arm.name);
  if (set) words.append(element("span", { className: "note", textContent: ` ${set}` }));
  return element("label", { className: "check" }, box, words);
}

/** A slider for a number: in even steps up to a thousand, by powers above. */
function slider(choice, field) {
  const values = choice.values.map(Number).filter((value) => value > 0);
  const own = Number(choice.default);
  const top = Math.min(choice.max, Math.max(1000, ...values.map((value) => value * 4), own * 4 || 0));
  const byPowers = top > 1000;
  const least = Math.max(choice.min, 1);
  const value = (at) => (byPowers ? Math.round(least * (top / least) ** (at / 200)) : at);
  const at = (given) => (byPowers ? (200 * Math.log(given / least)) / Math.log(top / least) : given);
  const range = element("input", { type: "range", step: 1 });
  Object.assign(range, { min: byPowers ? 0 : choice.min, max: byPowers ? 200 : top });
  range.value = at(Number(field.value || values[0] || own || least));
  range.setAttribute("aria-label", `${choice.name}, slider`);
  range.addEventListener("input", () => {
    field.value = value(Number(range.value));
    changed();
  });
  field.addEventListener("input", () => (range.value = at(Number(field.value))));
  return range;
}

function tunableField(choice, given) {
  const id = `tunable-${choice.name}`;
  const note = [choice.takes, choice.unit, choice.default && `default: ${choice.default}`];
  const words = `${choice.effect} ${note.filter(Boolean).join("; ")}.`;
  const says = element("p", { id: `${id}-note`, className: "note", textContent: words });
  const row = element("div", { className: "tunable" });
  row.append(element("label", { htmlFor: id, textContent: choice.name }));
  let field = element("input", { id, type: "text", placeholder: "not set", value: given ?? "" });
  if (choice.words.length > 0) {
    field = element("select", { id }, option("", "not set"));
    field.append(...choice.words.map((word) => option(word, word)));
    field.value = given ?? "";
  }
  field.dataset.tunable = choice.name;
  field.autocomplete = "off";
  field.setAttribute("aria-describedby", says.id);
  row.append(field);
  if (choice.max !== null && choice.words.length === 0) row.append(slider(choice, field));
  row.append(says);
  by("tunables").append(row);
}

/** Memory by its slider: four steps to a doubling, from 64 MiB. */
const memoryAt = (at) => Math.round(64 * 2 ** (at / 4));
const atMemory = (mib) => 4 * Math.log2(mib / 64);

function fill(question) {
  const list = (id, first, words) =>
    by(id).replaceChildren(option("", first), ...words.map((word) => option(word, word)));
  list("disk", "as the study has it", offer.disks);
  list("kernel", "as is usual", offer.kernels);
  list("more", "choose", offer.tunables.map((choice) => choice.name));
  by("about").textContent = study.question + leftOut(question);
  by("memory").value = mebibytes(question.memory) ?? study.memory_mib;
  by("memory-slider").value = atMemory(by("memory").value);
  by("cpus").value = question.cpus ?? study.cpus;
  by("disk").value = question.disk ?? "";
  by("kernel").value = question.kernel ?? "";
  by("repetitions").value = question.repetitions ?? 1;
  by("repetitions-note").textContent = `The study says ${study.repetitions}; more take longer and show more.`;
  const wanted = (name, index) =>
    question.arms.length > 0 ? question.arms.includes(name) : question.whole || index < 2;
  by("arms").replaceChildren(...study.arms.map((arm, index) => armBox(arm, wanted(arm.name, index))));
  fillTunables(question.set);
}

/** "16G" in MiB; null where it is no size. */
function mebibytes(size) {
  const parts = /^([\d.]+)\s*([KMGT]?)(iB|B)?$/i.exec(size ?? "");
  const factor = parts && { K: 2 ** -10, "": 2 ** -20, M: 1, G: 2 ** 10, T: 2 ** 20 }[parts[2].toUpperCase()];
  return parts && Math.round(Number(parts[1]) * factor);
}

/** What a link asks for and this page does not have. */
function leftOut({ arms, set, memory, disk, kernel }) {
  const lacks = (all, word) => word !== null && !all.includes(word);
  const tunables = offer.tunables.map((choice) => choice.name);
  const gone = [
    ...arms.filter((arm) => !study.arms.some(({ name }) => name === arm)),
    ...set.filter((setting) => !tunables.includes(setting.split("=")[0])),
    ...[memory].filter((size) => size !== null && mebibytes(size) === null),
    ...[disk].filter((word) => lacks(offer.disks, word)),
    ...[kernel].filter((word) => lacks(offer.kernels, word)),
  ];
  return gone.length > 0 ? ` Not known here and left out: ${gone.join(", ")}.` : "";
}

function fillTunables(set) {
  const given = new Map(set.map((setting) => setting.split(/=(.*)/s).slice(0, 2)));
  const names = new Set(study.tunables.map((choice) => choice.name));
  const others = offer.tunables.filter((choice) => given.has(choice.name) && !names.has(choice.name));
  by("tunables").replaceChildren();
  [...study.tunables, ...others].forEach((choice) => tunableField(choice, given.get(choice.name)));
}

const none = { arms: [], set: [], memory: null, cpus: null, disk: null, kernel: null };

async function choose(name, fileText, question = none) {
  const about = { verb: "study", study: name, text: fileText };
  study = { ...JSON.parse(await ask(about)), file: name };
  text = fileText;
  by("study").value = fileText === null ? name : "";
  cleared();
  fill(question);
  changed();
}

// ---- The answer.

let timer = null;
let running = false;
let again = false;

/** Asks soon; while the model computes, only the last of the questions is kept. */
function changed() {
  clearTimeout(timer);
  timer = setTimeout(answer, 60);
}

async function answer() {
  if (running) {
    again = true;
    return;
  }
  if (study === null) return;
  running = true;
  by("report").setAttribute("aria-busy", "true");
  try {
    const question = asked();
    by("command").textContent = command(question);
    remember(question);
    by("status").textContent = "The model computes.";
    const begin = performance.now();
    show(await ask({ verb: "predict", ...question }));
    said(`Answered in ${((performance.now() - begin) / 1000).toFixed(2)} s.`);
  } catch (error) {
    cleared();
    said(`${error.message}.`, "error");
  }
  by("report").setAttribute("aria-busy", "false");
  running = false;
  if (again) {
    again = false;
    answer();
  }
}

/** The question in the address; a browser may refuse one that is long, or changes often. */
function remember(question) {
  try {
    history.replaceState(null, "", fragment(question));
  } catch {
    // The answer does not hang on it.
  }
}

/** No answer stands beside another question. */
function cleared() {
  shadow.replaceChildren();
  by("headline").textContent = "";
}

function said(words, kind = "") {
  by("status").textContent = words;
  by("status").className = kind;
}

const shadow = by("report").attachShadow({ mode: "open" });

/** The report of `plimsoll predict --out`, with its own style, apart from the page's. */
function show(answered) {
  const end = answered.indexOf("\n");
  const page = new DOMParser().parseFromString(answered.slice(end + 1), "text/html");
  const style = page.querySelector("style").textContent;
  const scoped = style.replaceAll(":root", ":host").replace(/^body\b/gm, ".body");
  const main = page.querySelector("main");
  main.querySelectorAll("h1, .question, footer").forEach((part) => part.remove());
  main.querySelectorAll("pre, .arms-frame").forEach((part) => part.setAttribute("tabindex", "0"));
  const body = element("div", { className: "body" }, ...main.childNodes);
  body.style.cssText = "padding: 0; max-width: none; background: none";
  // Charts that are folded for many arms are in sight for a few; what the reader folds stays so.
  const few = checked().length <= 4;
  const shown = (part) => few && /charts|load lines/.test(part.querySelector("summary").textContent);
  const open = [...shadow.querySelectorAll("details")].map((part) => part.open);
  shadow.replaceChildren(element("style", { textContent: scoped }), body);
  shadow.querySelectorAll("details").forEach((part, index) => (part.open = open[index] ?? shown(part)));
  by("headline").textContent = headline(JSON.parse(answered.slice(0, end)));
}

const signed = (share) => `${share > 0 ? "+" : ""}${(100 * share).toFixed(0)} %`;

/** What differs between the arms, in a sentence for those who do not see the charts. */
function headline({ kernels }) {
  const verdicts = kernels.flatMap((kernel) => kernel.verdicts);
  const told = verdicts.filter(({ verdict }) => verdict === "better" || verdict === "worse");
  const words = told.slice(0, 4).map(({ arm, baseline, measure, verdict, relative }) =>
    `${arm}: ${measure} ${verdict} than ${baseline}${relative === null ? "" : ` (${signed(relative)})`}`);
  return words.join("; ");
}

// ---- A text of a machine.

async function look(name, given) {
  const set = by("evidence-set").value.split(/[\s,]+/).filter(Boolean);
  const width = Math.floor(by("pages").clientWidth / 8.5) - 4;
  by("evidence-status").textContent = "It is read.";
  try {
    const found = JSON.parse(await ask({ verb: "look", name, text: given, set, width }));
    by("pages").replaceChildren(...(found.pages ?? linted(found.lint)).flatMap(pageOf));
    by("evidence-status").textContent = `Read: ${name}.`;
  } catch (error) {
    by("pages").replaceChildren();
    by("evidence-status").textContent = `${name}: ${error.message}.`;
  }
  by("evidence-status").scrollIntoView({ block: "nearest" });
}

function linted({ findings, settings: count }) {
  const found = findings.filter((finding) => finding.status === "found");
  const open = findings.filter((finding) => finding.status === "unknown");
  const line = ({ line: at, severity, rule, what, instead }) =>
    `${at ? `line ${at}: ` : ""}${severity} ${rule}\n  ${what}\n  Instead: ${instead}`;
  const none = open.length > 0 ? "" : "Nothing was found.";
  const asked = open.length > 0
    ? `${open.length} questions could not be answered from this text: ${open.map(({ rule }) => rule).join(", ")}.`
    : "";
  const words = [...found.map(line), none, asked].filter(Boolean).join("\n\n");
  return [{ name: `What lint says of ${count} setting${count === 1 ? "" : "s"}`, text: words }];
}

function pageOf({ name, text: words }) {
  const pre = element("pre", { textContent: words, tabIndex: 0 });
  pre.setAttribute("aria-label", name);
  pre.setAttribute("role", "region");
  return [element("h3", { textContent: name }), pre];
}

/** What a file is: a study has a question and arms; all else is a text of a machine. */
async function dropped(file) {
  const given = await file.text().catch(() => null);
  if (given === null) return said(`${file.name}: the browser does not read it.`, "error");
  const isStudy = /^[ \t]*question[ \t]*=/m.test(given) && /^[ \t]*\[\[arm\]\]/m.test(given);
  if (!isStudy) return look(file.name, given);
  return chosen(file.name, given);
}

/** As `choose`; what is wrong is said. */
const chosen = (...study) => choose(...study).catch((error) => said(`${error.message}.`, "error"));

// ---- A guided tour: steps that ask for the reader.

const tours = JSON.parse(by("tours").textContent);
let tour = null;
let at = 0;

function step(number) {
  at = number;
  const { says, ...asks } = tour.steps[at];
  by("tour-says").textContent = says;
  by("tour-at").textContent = `${at + 1} of ${tour.steps.length}`;
  by("tour-back").disabled = at === 0;
  by("tour-next").disabled = at === tour.steps.length - 1;
  return chosen(tour.study, null, { ...none, ...asks });
}

function listenToTours() {
  const titles = tours.map(({ title }, index) => option(String(index), title));
  by("tour-choice").replaceChildren(option("", "none"), ...titles);
  by("tour-choice").addEventListener("change", () => {
    tour = tours[by("tour-choice").value] ?? null;
    by("tour-step").hidden = tour === null;
    if (tour) step(0);
  });
  by("tour-back").addEventListener("click", () => step(at - 1));
  by("tour-next").addEventListener("click", () => step(at + 1));
}

// ---- Events.

async function copied(button, words) {
  const label = button.dataset.label ?? (button.dataset.label = button.textContent);
  try {
    await navigator.clipboard.writeText(words);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied: the browser refused";
  }
  setTimeout(() => (button.textContent = label), 1500);
}

function listen() {
  by("question").addEventListener("submit", (event) => event.preventDefault());
  by("question").addEventListener("input", ({ target }) => {
    if (target.id === "memory-slider") by("memory").value = memoryAt(Number(target.value));
    if (target.id === "memory") by("memory-slider").value = atMemory(Number(target.value));
    if (!["study", "study-file", "more"].includes(target.id)) changed();
  });
  by("study").addEventListener("change", () => by("study").value && chosen(by("study").value, null));
  by("more").addEventListener("change", () => {
    const choice = offer.tunables.find((it) => it.name === by("more").value);
    by("more").value = "";
    const there = choice && by(`tunable-${choice.name}`);
    if (choice && !there) tunableField({ ...choice, values: [] });
    if (choice) by(`tunable-${choice.name}`).focus();
  });
  for (const id of ["study-file", "evidence-file"]) {
    by(id).addEventListener("change", () => {
      if (by(id).files[0]) dropped(by(id).files[0]);
      by(id).value = "";
    });
  }
  by("look").addEventListener("click", () => look("the pasted text", by("evidence-text").value));
  by("copy-command").addEventListener("click", ({ target }) => copied(target, by("command").textContent));
  by("copy-link").addEventListener("click", ({ target }) => copied(target, location.href));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) dropped(event.dataTransfer.files[0]);
  });
  window.addEventListener("hashchange", () => fromLink());
}

/** The question that the link has; the first study where it has none. */
function fromLink() {
  const said = new URLSearchParams(location.hash.slice(1));
  const whole = said.has("study") && !said.has("arms");
  const question = { ...none, whole, arms: said.getAll("arms"), set: said.getAll("set") };
  for (const key of ["memory", "cpus", "disk", "kernel", "repetitions"]) question[key] = said.get(key);
  return chosen(said.get("study") ?? "usb-copy", said.get("text"), question);
}

try {
  offer = JSON.parse(await ask({ verb: "offer" }));
  by("study").append(option("", "a file"), ...offer.studies.map(({ name, title }) => option(name, `${name}: ${title}`)));
  listen();
  listenToTours();
  await fromLink();
} catch (error) {
  said(`${error.message}.`, "error");
}
