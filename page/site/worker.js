// The worker's end: the model that the page sends first, then questions by number.
// engine.js stands before it.

let model = null;

self.addEventListener("message", ({ data }) => {
  if (data.packed) {
    const bytes = expanded(data.expander, data.packed);
    model = engine(new WebAssembly.Module(bytes));
    return;
  }
  try {
    self.postMessage({ number: data.number, answer: model.ask(data.question, data.file) });
  } catch (error) {
    self.postMessage({ number: data.number, error: error.message });
  }
});
