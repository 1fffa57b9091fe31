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

/** What stands for a character that a script in a page cannot hold. */
const SPECIAL = { "\u00a1": 0, "\u00a2": 13, "\u00a3": 60 };

/** The bytes that a text has seven bits of in each of its characters, the lowest first. */
function sevens(text) {
  const bytes = new Uint8Array(Math.floor((text.length * 7) / 8));
  let [bits, count, at] = [0, 0, 0];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    bits |= (code > 127 ? SPECIAL[text[index]] : code) << count;
    count += 7;
    if (count < 8) continue;
    bytes[at] = bits & 255;
    bits >>= 8;
    count -= 8;
    at += 1;
  }
  return bytes;
}

/** The model as it is packed, and the module that expands it. */
async function model() {
  const expand = new Blob([sevens(by("expand").textContent)]);
  const plain = expand.stream().pipeThrough(new DecompressionStream("gzip"));
  const expander = await WebAssembly.compile(await new Response(plain).arrayBuffer());
  return { expander, packed: sevens(by("model").textContent) };
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
  worker.postMessage(await model());
  return worker;
}

const worker = started();

/** Asks the model; `file` is what the question is about, in bytes. */
async function ask(question, file = null) {
  const number = (numbers += 1);
  (await worker).postMessage({ number, question, file });
  return new Promise((answered, refused) => waiting.set(number, { answered, refused }));
}

// ---- The question: what the fields say. Its keys are the options of `plimsoll predict`.

let study = null;
let offer = null;
/** The text of a study's file; null for a built-in one. */
let text = null;
/** The bytes of a recording; null for a study that is none. */
let recording = null;
/** The machine that there is a capture of, in place of the study's own. */
let like = null;

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
  const machine = {
    memory: memory && `${memory}M`,
    cpus: Number(number("cpus", study.cpus)) || null,
    disk: by("disk").value || null,
  };
  return {
    study: study.file,
    text,
    arms: arms.length === study.arms.length ? [] : arms,
    set: settings(),
    ...(like === null ? machine : { like }),
    kernel: by("kernel").value || null,
    repetitions: Math.max(1, Number(by("repetitions").value) || 1),
  };
}

const quoted = (word) => (/^[\w./=:,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

function command(question) {
  const { study: name, arms, set, memory = null, cpus = null, disk = null } = question;
  const { kernel, repetitions } = question;
  const words = ["plimsoll", "predict", name];
  arms.forEach((arm) => words.push("--arm", arm));
  set.forEach((setting) => words.push("--set", setting));
  if (question.like) words.push("--like", question.like.name);
  Object.entries({ memory, cpus, disk, kernel, repetitions }).forEach(([option, value]) => {
    if (value !== null) words.push(`--${option}`, String(value));
  });
  return words.map(quoted).join(" ");
}

function fragment(question) {
  // A machine's capture is no part of it: what is sent to others is the question.
  const pairs = Object.entries(question).flatMap(([key, value]) =>
    key === "like" ? [] : [value].flat().filter((it) => it !== null).map((it) => [key, String(it)]));
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

/** A built-in study by its name, or one of a file: its text, or a recording's bytes. */
async function choose(name, fileText, question = none, file = null) {
  const about = { verb: "study", study: name, text: fileText };
  study = { ...JSON.parse(await ask(about, file)), file: name };
  text = fileText;
  recording = file;
  by("study").value = fileText === null && file === null ? name : "";
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
    show(await ask({ verb: "predict", ...question }, recording));
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
  const [data, says] = answered.split("\n", 2);
  const html = answered.slice(data.length + says.length + 2);
  const page = new DOMParser().parseFromString(html, "text/html");
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
  by("headline").textContent = headline(JSON.parse(data));
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

/** The machine of a capture in place of the study's own, or again the study's. */
function askFor(held) {
  like = held;
  by("own-machine").hidden = like !== null;
  by("like").hidden = like === null;
  by("like-name").textContent = like === null ? "" : like.name;
  changed();
}

// ---- A guided tour: steps that ask for the reader.

const tours = JSON.parse(by("tours").textContent);
let tour = null;
let at = 0;

/** Asks a step's question, and says its words with the numbers of the answer. */
async function step(number) {
  at = number;
  const { says, holds, ...asks } = tour.step[at];
  const words = by("tour-says");
  words.setAttribute("aria-busy", "true");
  words.textContent = says.replaceAll(/\{[^}]*\}/g, "…");
  by("tour-at").textContent = `Step ${at + 1} of ${tour.step.length}`;
  by("tour-source").textContent = `${tour.source}.`;
  by("tour-back").disabled = at === 0;
  by("tour-next").disabled = at === tour.step.length - 1;
  askFor(null);
  await chosen(tour.study, null, { ...none, ...asks });
  try {
    const filled = JSON.parse((await ask({ verb: "predict", ...asked(), says }, recording)).split("\n", 2)[1]);
    if (tour?.step[at].says === says) words.textContent = filled;
  } catch (error) {
    said(`${error.message}.`, "error");
  }
  words.setAttribute("aria-busy", "false");
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
