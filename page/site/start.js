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
  listenToEvidence();
  by("copy-command").addEventListener("click", ({ target }) => copied(target, by("command").textContent));
  by("copy-link").addEventListener("click", ({ target }) => copied(target, location.href));
  by("like-own").addEventListener("click", () => askFor(null));
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
  listenToMachine();
  await fromLink();
} catch (error) {
  said(`${error.message}.`, "error");
}
