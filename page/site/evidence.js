
// ---- What somebody holds of a machine.

/** Bytes of files that are read for one look, and how many. */
const MOST_BYTES = 512 * 2 ** 20;
const MOST_FILES = 20_000;

/** What was looked at last, as a capture with a name; and one that the next is compared with. */
let held = null;
let kept = null;

const columns = () => Math.floor(by("pages").clientWidth / 8.5) - 4;
const wanted = () => by("evidence-set").value.split(/[\s,]+/).filter(Boolean);

async function look(name, bytes) {
  by("evidence-status").textContent = "It is read.";
  try {
    const question = { verb: "look", name, set: wanted(), width: columns() };
    const { pages, lint, capture } = JSON.parse(await ask(question, bytes));
    held = capture ? { name, capture } : null;
    const compared = held && kept ? JSON.parse(await ask(changes())).pages : [];
    by("pages").replaceChildren(...[...compared, ...(pages ?? linted(lint))].flatMap(pageOf));
    by("evidence-status").textContent = `Read: ${name}.`;
  } catch (error) {
    held = null;
    by("pages").replaceChildren();
    by("evidence-status").textContent = `${name}: ${error.message}.`;
  }
  by("held").hidden = held === null;
  plan();
  by("evidence-status").scrollIntoView({ block: "nearest" });
}

const changes = () => ({ verb: "diff", before: kept, after: held, width: columns() });

/** The change as the command makes it; nothing is written from here. */
function plan() {
  const set = held ? wanted() : [];
  by("plan").hidden = set.length === 0;
  by("plan-command").textContent = ["sudo plimsoll apply", ...set.map(quoted)].join(" ");
}

function linted({ findings, settings: count }) {
  const found = findings.filter((finding) => finding.status === "found");
  const open = findings.filter((finding) => finding.status === "unknown");
  const line = ({ line: at, severity, rule, what, instead }) =>
    `${at ? `line ${at}: ` : ""}${severity} ${rule}\n  ${what}\n  Instead: ${instead}`;
  const nothing = open.length > 0 ? "" : "Nothing was found.";
  const unanswered = open.length > 0
    ? `${open.length} questions could not be answered from this text: ${open.map(({ rule }) => rule).join(", ")}.`
    : "";
  const words = [...found.map(line), nothing, unanswered].filter(Boolean).join("\n\n");
  return [{ name: `What lint says of ${count} setting${count === 1 ? "" : "s"}`, text: words }];
}

function pageOf({ name, text: words }) {
  const pre = element("pre", { textContent: words, tabIndex: 0 });
  pre.setAttribute("aria-label", name);
  pre.setAttribute("role", "region");
  return [element("h3", { textContent: name }), pre];
}

// ---- Files and folders.

/** One block or more of a tar archive: a member's head and what it holds. */
function member(name, kind, bytes) {
  const block = new Uint8Array(512 + 512 * Math.ceil(bytes.length / 512));
  const put = (at, text) => block.set(new TextEncoder().encode(text), at);
  block.set(name.subarray(0, 100), 0);
  put(100, "0000644\0");
  put(124, `${bytes.length.toString(8).padStart(11, "0")}\0`);
  put(148, `        ${kind}`);
  put(257, "ustar\0" + "00");
  const sum = block.subarray(0, 512).reduce((so_far, byte) => so_far + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  block.set(bytes, 512);
  return block;
}

/** A folder as the model takes it: an archive of its files, `[path, bytes]` each. */
function tar(files) {
  const blocks = files.flatMap(([path, bytes]) => {
    const name = new TextEncoder().encode(path);
    const long = name.length > 100 ? [member(new TextEncoder().encode("@"), "L", name)] : [];
    return [...long, member(name, "0", bytes)];
  });
  return new Blob([...blocks, new Uint8Array(1024)]).arrayBuffer();
}

/** All files below an entry of a drop, with their paths. */
async function below(entry, found = []) {
  if (found.length >= MOST_FILES) throw new Error(`more than ${MOST_FILES} files`);
  const told = (method, ...at) => new Promise((done, refused) => entry[method](...at, done, refused));
  if (entry.isFile) found.push([entry.fullPath.slice(1), await told("file")]);
  if (!entry.isDirectory) return found;
  const reader = entry.createReader();
  const next = () => new Promise((done, refused) => reader.readEntries(done, refused));
  for (let entries = await next(); entries.length > 0; entries = await next()) {
    for (const inner of entries) await below(inner, found);
  }
  return found;
}

const bytesOf = async (file) => new Uint8Array(await file.arrayBuffer());

async function folder(name, files) {
  const size = files.reduce((sum, [, file]) => sum + file.size, 0);
  if (size > MOST_BYTES) throw new Error(`more than ${MOST_BYTES >> 20} MiB: drop the archive of it`);
  const read = files.map(async ([path, file]) => [path, await bytesOf(file)]);
  return look(name, new Uint8Array(await tar(await Promise.all(read))));
}

/** What a file is: a recording, a study, which has a question and arms, or what shows a machine. */
async function dropped(file) {
  if (file.size > MOST_BYTES) throw new Error(`more than ${MOST_BYTES >> 20} MiB`);
  const bytes = await bytesOf(file);
  const start = new TextDecoder().decode(bytes.subarray(0, 2 ** 20));
  if (start.startsWith(RECORDING)) return chosen(file.name, null, none, bytes);
  const isStudy = /^[ \t]*question[ \t]*=/m.test(start) && /^[ \t]*\[\[arm\]\]/m.test(start);
  return isStudy ? chosen(file.name, start) : look(file.name, bytes);
}

/** How a recording begins. */
const RECORDING = "# plimsoll recording";

/** Files and folders that were dropped or chosen; what is wrong with them is said. */
async function took(name, files) {
  try {
    if (files.length === 1 && !files[0][0].includes("/")) await dropped(files[0][1]);
    else await folder(name, files);
  } catch (error) {
    by("evidence-status").textContent = `${name}: ${error.message}.`;
    by("evidence-status").scrollIntoView({ block: "nearest" });
  }
}

async function drop(event) {
  event.preventDefault();
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  if (entries.length === 0) return;
  const name = entries.map((entry) => entry.name).join(", ");
  try {
    const all = await Promise.all(entries.map((entry) => below(entry)));
    await took(name, all.flat());
  } catch (error) {
    by("evidence-status").textContent = `${name}: ${error.message}.`;
  }
}

/** As `choose`; what is wrong is said. */
const chosen = (...study) => choose(...study).catch((error) => said(`${error.message}.`, "error"));

function listenToEvidence() {
  for (const id of ["study-file", "evidence-file", "evidence-folder"]) {
    by(id).addEventListener("change", () => {
      const files = [...by(id).files].map((file) => [file.webkitRelativePath || file.name, file]);
      const name = files[0]?.[0].split("/")[0];
      by(id).value = "";
      if (files.length > 0) took(name, files);
    });
  }
  const pasted = () => new TextEncoder().encode(by("evidence-text").value);
  by("look").addEventListener("click", () => look("the pasted text", pasted()));
  by("evidence-set").addEventListener("input", plan);
  by("held-ask").addEventListener("click", () => {
    askFor(held);
    by("status").scrollIntoView({ block: "nearest" });
  });
  by("held-keep").addEventListener("click", () => {
    kept = held;
    by("evidence-status").textContent = `What is looked at next is compared with ${kept.name}.`;
  });
  by("copy-plan").addEventListener("click", ({ target }) => copied(target, by("plan-command").textContent));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", drop);
}
