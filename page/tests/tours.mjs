// What the guided tours say is so: `tours.mjs MODULE TOURS.JSON [STUDY...]`.
import { readFileSync } from "node:fs";
import { engine } from "../site/engine.js";

const [wasm, file, ...named] = process.argv.slice(2);
const model = engine(new WebAssembly.Module(readFileSync(wasm)));
const tours = JSON.parse(readFileSync(file, "utf8"));
const LEAST_STEPS = 7;
const MOST_STEPS = 10;
let failed = 0;
let claims = 0;

function wrong(tour, at, what) {
  failed += 1;
  console.log(`${tour.study}, step ${at + 1}: ${what}`);
}

/** A text with the numbers of a step's answer in it. */
function said(tour, { arms = [], set = [], memory = null, kernel = null }, says) {
  const question = { verb: "predict", study: tour.study, arms, set, memory, kernel, repetitions: 1, says };
  return JSON.parse(model.ask(question).split("\n", 2)[1]);
}

/** The number that an expression has, in the unit that it is shown in. */
const number = (text) => Number(/^-?[\d.]+/.exec(text)?.[0] ?? NaN);

for (const tour of tours) {
  if (named.length > 0 && !named.includes(tour.study)) continue;
  if (tour.step.length < LEAST_STEPS || tour.step.length > MOST_STEPS) {
    wrong(tour, tour.step.length - 1, `a tour has ${LEAST_STEPS} to ${MOST_STEPS} steps`);
  }
  tour.step.forEach((step, at) => {
    try {
      const text = said(tour, step, step.says);
      if (/\(no figure\)|NaN|\{|\}/.test(text)) wrong(tour, at, `a number is missing: ${text}`);
      for (const [left, operator, right] of step.holds ?? []) {
        const value = number(said(tour, step, `{${left}}`));
        const holds = operator === ">" ? value > right : operator === "<" && value < right;
        claims += 1;
        if (!holds) wrong(tour, at, `${left} is ${value}, and should be ${operator} ${right}`);
      }
    } catch (error) {
      wrong(tour, at, error.message);
    }
  });
  console.log(`${tour.study}: ${tour.step.length} steps`);
}
console.log(`${tours.length} tours, ${claims} claims, ${failed} wrong`);
process.exitCode = failed === 0 && claims > 0 ? 0 : 1;
