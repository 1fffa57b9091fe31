// The worker's end: the model that the page sends first, then questions by number.
// engine.js stands before it.

let model = null;

self.addEventListener("message", ({ data }) => {
  if (data.module) {
    model = engine(data.module);
    return;
  }
  try {
    self.postMessage({ number: data.number, answer: model.ask(data.question) });
  } catch (error) {
    self.postMessage({ number: data.number, error: error.message });
  }
});
