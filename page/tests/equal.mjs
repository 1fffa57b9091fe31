// The module gives the bytes that the command gives: `equal.mjs MODULE PLIMSOLL [STUDY...]`.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { engine } from "../site/engine.js";

const [wasm, plimsoll, ...named] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(wasm));
const MOST_MIB = 4096;
const { studies } = JSON.parse(engine(module).ask({ verb: "offer" }));
const names = named.length > 0 ? named : studies.map(({ name }) => name);
let failed = 0;
let compared = 0;
for (const study of names) {
  const about = JSON.parse(engine(module).ask({ verb: "study", study }));
  if (about.memory_mib > MOST_MIB) {
    console.log(`${study}: left out, it has ${about.memory_mib} MiB and the most is ${MOST_MIB}`);
    continue;
  }
  const arms = about.arms.slice(0, 2).map(({ name }) => name);
  const begin = performance.now();
  const answer = engine(module).ask({ verb: "predict", study, arms, repetitions: 1 });
  const here = performance.now();
  const own = arms.flatMap((arm) => ["--arm", arm]);
  const options = ["predict", study, ...own, "--repetitions", "1", "--json"];
  const native = execFileSync(plimsoll, options, { encoding: "utf8", maxBuffer: 1 << 26, stdio: ["ignore", "pipe", "ignore"] });
  const there = performance.now();
  const same = answer.slice(0, answer.indexOf("\n") + 1) === native;
  console.log(`${study}: ${same ? "equal" : "DIFFERENT"}, ${native.length} bytes, ${arms.length} arms, ` +
    `here ${(here - begin).toFixed(0)} ms, command ${(there - here).toFixed(0)} ms`);
  failed += same ? 0 : 1;
  compared += 1;
}
console.log(`${compared} studies compared, ${failed} differ`);
process.exitCode = failed === 0 && compared > 0 ? 0 : 1;
