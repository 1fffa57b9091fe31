// The model as a function from a question to the text of its answer; in a browser and in Node.

const EBADF = 8;

/** What the model's standard library imports: room for a panic's message, and randomness. */
function system(state) {
  const bytes = (at, length) => new Uint8Array(state.memory.buffer, at >>> 0, length >>> 0);
  const known = {
    random_get(at, length) {
      crypto.getRandomValues(bytes(at, length));
      return 0;
    },
    environ_sizes_get(count, size) {
      bytes(count, 4).fill(0);
      bytes(size, 4).fill(0);
      return 0;
    },
    environ_get: () => 0,
    fd_write(_file, parts, count, written) {
      const view = new DataView(state.memory.buffer);
      let sum = 0;
      for (let part = parts >>> 0; part < (parts >>> 0) + 8 * count; part += 8) {
        const length = view.getUint32(part + 4, true);
        state.said += new TextDecoder().decode(bytes(view.getUint32(part, true), length));
        sum += length;
      }
      view.setUint32(written >>> 0, sum, true);
      return 0;
    },
    proc_exit(code) {
      throw new Error(`it ended with ${code}`);
    },
  };
  return new Proxy(known, { get: (calls, name) => calls[name] ?? (() => EBADF) });
}

/** Runs a module, and keeps what it says. */
function started(module) {
  const state = { memory: null, said: "" };
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: system(state) });
  state.memory = instance.exports.memory;
  instance.exports._initialize?.();
  return { state, calls: instance.exports };
}

/** What is packed, expanded by the module that can. */
export function expanded(module, packed) {
  const { state, calls } = started(module);
  const at = calls.room(packed.length) >>> 0;
  new Uint8Array(state.memory.buffer, at, packed.length).set(packed);
  const length = calls.expand() >>> 0;
  return new Uint8Array(state.memory.buffer, calls.expanded() >>> 0, length).slice();
}

/**
 * An instance of the model; `ask` gives the text of an answer or throws an Error in words. `file`
 * is what the question is about, in bytes.
 */
export function engine(module) {
  let live = null;
  const raw = (question, file) => {
    live ??= started(module);
    const { state, calls } = live;
    const head = new TextEncoder().encode(`${JSON.stringify(question)}\n`);
    const size = head.length + (file?.length ?? 0);
    const at = calls.text(size) >>> 0;
    const text = new Uint8Array(state.memory.buffer, at, size);
    text.set(head);
    if (file) text.set(file, head.length);
    const length = calls.ask() >>> 0;
    const answer = new Uint8Array(state.memory.buffer, calls.answer() >>> 0, length);
    return new TextDecoder().decode(answer);
  };
  const ask = (question, file = null) => {
    let text;
    try {
      text = raw(question, file);
    } catch (error) {
      // What trapped is not asked again; the next question gets a model of its own.
      const said = live?.state.said || String(error);
      live = null;
      throw new Error(`the model stopped: ${said.trim()}`);
    }
    const end = text.indexOf("\n");
    const [kind, rest] = [text.slice(0, end), text.slice(end + 1)];
    if (kind !== "answer") throw new Error(rest);
    return rest;
  };
  return { ask };
}
