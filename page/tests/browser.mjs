// The page in Chromium, as people use it: `browser.mjs PLIMSOLL.HTML NODE_MODULES PLIMSOLL`.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [file, modules, plimsoll] = process.argv.slice(2);
const require = createRequire(join(resolve(modules), "any.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
assert(executablePath, "no chromium: apt-get install --no-install-recommends chromium");

const address = pathToFileURL(resolve(file)).href;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const requests = [];
const errors = [];

async function opened(options = {}, fragment = "") {
  const context = await browser.newContext({ bypassCSP: false, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto((options.address ?? address) + fragment);
  await answered(page);
  return page;
}

/** Waits for an answer; `act` asks for it. */
async function answered(page, act = null) {
  const status = page.locator("#status");
  if (act) {
    await act();
    await status.filter({ hasText: "The model computes" }).waitFor({ timeout: 2000 }).catch(() => {});
  }
  await status.filter({ hasText: "Answered" }).waitFor();
}

async function accessible(page, name) {
  // axe is not the page's own script: it is run by the driver, in its own world.
  await page.evaluate(`${axe}; undefined`);
  const { violations } = await page.evaluate("axe.run(document)");
  const words = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
  assert.deepEqual(words, [], name);
  console.log(`axe: 0 findings, ${name}`);
}

const picture = (page, name) =>
  page.screenshot({ path: join(dirname(resolve(file)), `${name}.png`), fullPage: name.endsWith("-whole") });

const begin = performance.now();
const page = await opened({ viewport: { width: 1280, height: 900 } });
console.log(`opened and answered in ${(performance.now() - begin).toFixed(0)} ms`);
assert.match(await page.locator("#command").textContent(), /^plimsoll predict usb-copy --arm/);
assert(await page.locator("#report svg").count() > 0, "the report has charts");
await picture(page, "page-light");
await accessible(page, "light");

// Every built-in study of up to 4 GiB: from a setting to the charts, by the page's own clock; the
// driver looks only every tenth of a second and rarer.
await page.evaluate(() => {
  window.times = { begin: 0, end: 0 };
  const status = document.getElementById("status");
  document.addEventListener("input", () => (window.times.begin = performance.now()), true);
  new MutationObserver(() => {
    if (!status.textContent.startsWith("Answered")) return;
    requestAnimationFrame(() => (window.times.end = performance.now()));
  }).observe(status, { childList: true });
});
const names = await page.locator("#study option").evaluateAll((all) => all.map(({ value }) => value).filter(Boolean));
for (const name of names) {
  const large = name.endsWith("-full-size");
  if (large) continue;
  await answered(page, () => page.locator("#study").selectOption(name));
  const slider = page.locator("#tunables input[type=range]").first();
  if ((await slider.count()) === 0) {
    console.log(`${name}: no slider`);
    continue;
  }
  await slider.focus();
  await answered(page, () => page.keyboard.press("ArrowRight"));
  const took = await page.waitForTimeout(100).then(() => page.evaluate(() => times.end - times.begin));
  assert.match(await page.locator("#command").textContent(), /--set /, "the slider sets something");
  console.log(`${name}: slider to chart ${took.toFixed(0)} ms`);
}

// The link carries the whole question.
const link = new URL(page.url()).hash;
const command = await page.locator("#command").textContent();
const other = await opened({}, link);
assert.equal(await other.locator("#command").textContent(), command, "the link asks the same");

// By the keyboard alone: everything is reached, and nothing holds the focus.
const reached = new Set();
await other.locator("body").press("Tab");
for (let step = 0; step < 150 && !reached.has("look"); step += 1) {
  reached.add(await other.evaluate(() => document.activeElement.id));
  await other.keyboard.press("Tab");
}
for (const id of ["study", "memory", "memory-slider", "cpus", "disk", "kernel", "repetitions", "more", "copy-link", "look"]) {
  assert(reached.has(id), `Tab reaches ${id}`);
}

// A tour asks its questions itself, to its end, and says the numbers of the answers.
async function stepped(act) {
  await answered(other, act);
  await other.locator("#tour-says[aria-busy=false]").waitFor();
  const says = await other.locator("#tour-says").textContent();
  assert(!/[…{}]/.test(says), says);
  assert((await other.locator("#report svg").count()) > 0, `each step has its charts: ${says}`);
}
const tours = await other.locator("#tour-choice option").count() - 1;
for (let tour = 0; tour < tours; tour += 1) {
  await stepped(() => other.locator("#tour-choice").selectOption(String(tour)));
  let steps = 1;
  for (; !(await other.locator("#tour-next").isDisabled()); steps += 1) {
    await stepped(() => other.locator("#tour-next").click());
  }
  console.log(`tour ${tour + 1}: ${steps} steps`);
}
await picture(other, "page-tour");

// A text of a machine, a file of settings, and a study's file.
const drop = async (name, text) => {
  const file = { name, mimeType: "text/plain", buffer: Buffer.from(text) };
  await other.locator("#evidence-file").setInputFiles(file);
};
await drop("dmesg.txt", readFileSync("fixtures/kernel_log/global-5.4.log"));
await other.locator("#pages").filter({ hasText: "The kernel killed java" }).waitFor();
await drop("90-mine.conf", "vm.swapiness = 10\nvm.min_free_kbytes = 1500000\n");
await other.locator("#pages").filter({ hasText: "vm.swappiness" }).waitFor();
// A folder, and an archive of one.
const machine = "fixtures/hosts/vm-24gib-6.18";
await other.locator("#evidence-folder").setInputFiles(machine);
await other.locator("#pages").filter({ hasText: "6.18" }).waitFor();
for (const form of ["tar", "tar.gz", "tar.zst", "tar.xz"]) {
  await other.locator("#evidence-file").setInputFiles(`fixtures/evidence/sosreport.${form}`);
  await other.locator("#evidence-status").filter({ hasText: `Read: sosreport.${form}` }).waitFor();
}
await other.locator("#evidence-file").setInputFiles({ name: "x.tar.xz", mimeType: "a/b", buffer: Buffer.from("\xfd7zXZ\0damaged", "latin1") });
await other.locator("#evidence-status").filter({ hasText: "x.tar.xz: " }).waitFor();
await drop("capture.txt", readFileSync(join(machine, "capture.txt")));
await other.locator("#evidence-status").filter({ hasText: "Read: capture.txt" }).waitFor();
// The studies for its machine, a change as a command, and again the studies' own machine.
await other.locator("#evidence-set").fill("vm.dirty_bytes=600M");
assert.match(await other.locator("#plan-command").textContent(), /^sudo plimsoll apply vm\.dirty_bytes=600M$/);
await answered(other, () => other.locator("#held-ask").click());
assert.match(await other.locator("#command").textContent(), /--like capture\.txt/);
await answered(other, () => other.locator("#like-own").click());
assert.doesNotMatch(await other.locator("#command").textContent(), /--like/);
await other.locator("#held-keep").click();
await drop("capture.txt", readFileSync(join(machine, "capture.txt")));
await other.locator("#pages").filter({ hasText: "What changed" }).waitFor();
// A recording is a study.
await answered(other, () => other.locator("#study-file").setInputFiles("fixtures/programs/tar-6.12.rec"));
assert.match(await other.locator("#command").textContent(), /predict tar-6\.12\.rec/);
await answered(other, () => drop("own.toml", readFileSync("studies/usb-copy.toml", "utf8").replace('"usb-copy"', '"my-own"')));
assert.match(await other.locator("#command").textContent(), /predict own\.toml/);

const dark = await opened({ viewport: { width: 1280, height: 900 }, colorScheme: "dark" }, "#study=min-free-kbytes");
await picture(dark, "page-dark");
await accessible(dark, "dark");
const phone = await opened({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
const wider = await phone.evaluate(() => document.documentElement.scrollWidth - screen.width);
assert(wider <= 0, `${wider} pixels wider than a phone`);
await picture(phone, "page-phone-whole");
await accessible(phone, "phone");

// This machine, live.
if (plimsoll) {
  const server = spawn(plimsoll, ["serve", "--listen", "127.0.0.1:0", "--interval", "1s", "--page", file]);
  try {
    const at = await new Promise((told) => server.stdout.once("data", (line) => told(String(line).trim())));
    const live = await opened({ viewport: { width: 1280, height: 900 }, address: at });
    await live.locator("#live-lines").filter({ hasText: "high mark" }).waitFor();
    await live.locator("#live-lines").filter({ hasText: "Pressure" }).waitFor();
    await live.waitForTimeout(3000);
    await picture(live, "page-live");
    await accessible(live, "live");
    await live.locator("#live-keep").click();
    await live.locator("#evidence-set").fill("vm.swappiness=10");
    await live.locator("#live-look").click();
    await live.locator("#pages").filter({ hasText: "What changed" }).waitFor();
    await live.locator("#pages").filter({ hasText: "What the settings would change there" }).waitFor();
    assert.match(await live.locator("#plan-command").textContent(), /vm\.swappiness=10$/);
    await live.setViewportSize({ width: 360, height: 740 });
    const wide = await live.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert(wide <= 0, `live: ${wide} pixels wider than a phone`);
    await picture(live, "page-live-phone-whole");
    const asked = new Set(requests.filter((url) => url.startsWith("http")));
    assert.deepEqual([...asked].sort(), [at, `${at}live`], "it asks its own server for events alone");
    requests.splice(0, requests.length, ...requests.filter((url) => !url.startsWith("http")));
  } finally {
    server.kill();
  }
} else {
  console.log("skipped: this machine live, for want of a command");
}
const own = (url) => url.startsWith(address) || url.startsWith("blob:") || url.startsWith("data:");
assert.deepEqual(requests.filter((url) => !own(url)), [], "no request leaves the page");
assert.deepEqual(errors, [], "no error in the console");
console.log(`${requests.length} requests, all for the page itself`);
await browser.close();
