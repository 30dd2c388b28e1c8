// The attention playground: <attention-playground>, one custom element without dependencies.
//
// One small head of attention with numbers that can be edited, calculated step by step in float32 as a kernel does.
// The element takes the attributes `preset` (copy, ragged, far) and `view` (one-shot, online).  The course's pages load
// a plain copy of this file; notebooks load it through anywidget, which calls `render`.

// ---- Arithmetic -------------------------------------------------------------------------------------------------

const f32 = Math.fround;

function dot(a, b) {
  let sum = 0;
  for (let d = 0; d < a.length; d += 1) sum = f32(sum + f32(a[d] * b[d]));
  return sum;
}

function total(numbers) {
  let sum = 0;
  for (const number of numbers) sum = f32(sum + number);
  return sum;
}

// A row of weights times the values: one number a column.
function mix(weights, values) {
  return values[0].map((_, column) => dot(weights, values.map((row) => row[column])));
}

function padded(rows, block) {
  const width = rows[0].length;
  return Array.from({ length: block }, (_, i) => (rows[i] ?? Array(width).fill(0)).map(f32));
}

// Why a score does not count, or "".
function reason(state, i, j) {
  const tokens = state.q.length;
  if (state.maskGhosts && i >= tokens) return "ghost query";
  if (state.maskGhosts && j >= tokens) return "ghost key";
  if (j < state.padding) return "padding";
  if (state.causal && j > i) return "future";
  return "";
}

// Everything that one-shot attention computes for a tile of `block` queries and keys.
// state: { q, k, v: rows of numbers, scale, causal, padding, maskGhosts, block }
export function attention(state) {
  const { block } = state;
  const [q, k, v] = [state.q, state.k, state.v].map((rows) => padded(rows, block));
  const scale = f32(state.scale);
  const rows = q.map((query, i) => {
    const products = k.map((key) => dot(query, key));
    const scaled = products.map((x) => f32(x * scale));
    const why = k.map((_, j) => reason(state, i, j));
    const s = scaled.map((x, j) => (why[j] ? -Infinity : x));
    const m = Math.max(...s);
    const ruler = m === -Infinity ? 0 : m;
    const w = s.map((x) => f32(Math.exp(f32(x - ruler))));
    const l = total(w);
    const share = w.map((x) => f32(x / (l || 1)));
    const o = mix(w, v).map((x) => f32(x / (l || 1)));
    return { query, products, scaled, why, s, m, ruler, w, l, share, o, lse: l ? f32(m + f32(Math.log(l))) : -Infinity };
  });
  return { q, k, v, scale, rows };
}

// The same softmax, chunk by chunk: for each query row a list of what the state is before any chunk and after each.
// guard "within": the stand-in for a maximum of -inf is used inside the exponentials only; "carried": 0 is carried on.
export function online(state, chunk, guard = "within") {
  const tile = attention(state);
  return tile.rows.map(({ s }) => {
    let now = { m: -Infinity, l: 0, acc: tile.v[0].map(() => 0) };
    const steps = [{ ...now, before: null }];
    for (let first = 0; first < s.length; first += chunk) {
      const scores = s.slice(first, first + chunk);
      const values = tile.v.slice(first, first + chunk);
      const largest = Math.max(now.m, ...scores);
      const ruler = largest === -Infinity ? 0 : largest;
      const alpha = f32(Math.exp(f32(now.m - ruler)));
      const w = scores.map((x) => f32(Math.exp(f32(x - ruler))));
      const added = mix(w, values);
      const next = {
        m: guard === "carried" ? ruler : largest,
        l: f32(f32(now.l * alpha) + total(w)),
        acc: now.acc.map((x, d) => f32(f32(x * alpha) + added[d])),
      };
      steps.push({ ...next, before: now, first, scores, ruler, alpha, w, added });
      now = next;
    }
    return steps;
  });
}

// What the state stands for: acc / l. A row that saw nothing is 0, unless the carried 0 hides that it should not be.
export function settled(step, guard = "within") {
  return step.acc.map((x) => (step.l === 0 && guard === "within" ? 0 : f32(x / step.l)));
}

// ---- Presets ----------------------------------------------------------------------------------------------------

function onCircle(position, tokens, size = 1) {
  const angle = (2 * Math.PI * position) / tokens;
  return [Math.cos(angle), Math.sin(angle)].map((x) => Math.round(x * size * 100) / 100);
}

const SCALE = Math.SQRT1_2; // 1 / sqrt(2): a head of two numbers

export const PRESETS = {
  copy: {
    title: "A copy head",
    words:
      "Each key is a position on a circle, and each query asks for the position before its own. " +
      "So every output is very nearly the value of the token before.",
    state: {
      q: [5, 0, 1, 2, 3, 4].map((position) => onCircle(position, 6, 16)),
      k: [0, 1, 2, 3, 4, 5].map((position) => onCircle(position, 6)),
      v: [1, 2, 3, 4, 5, 6].map((x) => [x, 10 * x]),
      causal: true, padding: 0, block: 6,
    },
  },
  ragged: {
    title: "Ragged, with ghosts",
    words:
      "Five tokens in a tile of eight. Three keys do not exist; loaded as zeros, they score 0, and 0 is a vote " +
      "like any other. Switch the mask of ghosts off, with the causal mask off and on, and watch the outputs.",
    state: {
      q: [[0.4, 1.2], [-0.7, 0.3], [1.1, -0.5], [0.2, 0.9], [-1.3, 0.6]],
      k: [[0.9, 0.1], [-0.4, 1.4], [0.3, -1.1], [1.2, 0.7], [-0.8, -0.2]],
      v: [[4, -1], [2, 3], [-3, 5], [1, 1], [6, 2]],
      causal: false, padding: 0, block: 8,
    },
  },
  far: {
    title: "Scores near −120",
    words:
      "All scores lie near −120, and the first two keys are padding that nobody may see. Taken against their own " +
      "maximum, the scores are as good as any. Measured against 0, exp(−120) is 0 in float32: step the online " +
      "softmax with the 0 carried on.",
    state: {
      q: [[12, 1], [12, -1], [12.2, 0.5], [11.9, 2], [12, 0], [12.1, 1.5]],
      k: [[1, 1], [2, 0], [-14, 0.5], [-14.1, 1], [-14, -0.5], [-14.2, 0.8]],
      v: [[9, 9], [9, 9], [1, 10], [2, 20], [3, 30], [4, 40]],
      causal: false, padding: 2, block: 6,
    },
  },
};

export function preset(name) {
  return { scale: SCALE, maskGhosts: true, ...structuredClone((PRESETS[name] ?? PRESETS.copy).state) };
}

// ---- Words and numbers ------------------------------------------------------------------------------------------

const MINUS = "−";

export function shown(x) {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : `${MINUS}∞`;
  const size = Math.abs(x);
  let text;
  if (size === 0) text = "0";
  else if (size < 0.001) text = x.toExponential(1);
  else text = x.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3).replace(/\.?0+$/, "");
  return text.replaceAll("-", MINUS);
}

const signed = (x) => (x < 0 || Object.is(x, -0) ? `(${shown(x)})` : shown(x));
const vector = (numbers) => `[${numbers.map(shown).join(", ")}]`;
const sum = (numbers) => numbers.map(signed).join(" + ");

const WHY = {
  "": (i, j) => `kept: key ${j} exists and query ${i} may see it`,
  future: (i, j) => `the future: key ${j} comes after query ${i}, so x = ${MINUS}∞`,
  "ghost key": (i, j) => `a ghost: there is no key ${j}, so x = ${MINUS}∞`,
  "ghost query": (i) => `a ghost: there is no query ${i}, so x = ${MINUS}∞`,
  padding: (i, j) => `padding: key ${j} is hidden from every query, so x = ${MINUS}∞`,
};

// A ghost that is kept counts like any other, and the words say so.
function whyKept(state, i, j) {
  if (reason(state, i, j)) return "";
  const tokens = state.q.length;
  if (j >= tokens) return `kept, although there is no key ${j}: its 0 takes weight`;
  return i >= tokens ? `kept, although there is no query ${i}` : "";
}

// The way of one score through the kernel: [name, calculation, result].
export function trace(state, tile, i, j) {
  const row = tile.rows[i];
  const key = tile.k[j];
  const products = row.query.map((x, d) => `${signed(x)} × ${signed(key[d])}`).join(" + ");
  const part = tile.v[j].map((x) => f32(row.share[j] * x));
  return [
    ["product", `q${i} · k${j} = ${products}`, shown(row.products[j])],
    ["scale", `${signed(row.products[j])} × ${shown(tile.scale)}`, shown(row.scaled[j])],
    ["mask", whyKept(state, i, j) || WHY[row.why[j]](i, j), shown(row.s[j])],
    [
      "maximum",
      row.m === -Infinity ? "the row sees no key at all; 0 stands in for its maximum" : `the largest score of row ${i}`,
      shown(row.ruler),
    ],
    ["exp", `exp(${shown(row.s[j])} ${MINUS} ${signed(row.ruler)})`, shown(row.w[j])],
    ["sum", `all exponentials of row ${i}: ${sum(row.w)}`, shown(row.l)],
    ["probability", row.l ? `${shown(row.w[j])} ÷ ${shown(row.l)}` : "0, since the row sees nothing", shown(row.share[j])],
    ["output", `adds ${shown(row.share[j])} × v${j} = ${vector(part)} to o${i}`, vector(row.o)],
  ];
}

// ---- The element ------------------------------------------------------------------------------------------------

const STYLE = `
:host { display: block; }
* { box-sizing: border-box; }
.app { --bg:#fff; --card:#f6f7fc; --ink:#1b2233; --soft:#535d72; --line:#d5daea; --accent:#3d47c9; --on:#fff;
  --heat:61,71,201; --warn:#a3341f; --hatch:#dfe3ef;
  background:var(--bg); color:var(--ink); border:1px solid var(--line); border-radius:14px; padding:clamp(.8rem,3vw,1.4rem);
  font:400 .95rem/1.5 var(--course-font, "Inter Variable", system-ui, sans-serif); font-variant-numeric:tabular-nums; }
.app[data-theme=dark] { color-scheme:dark; --bg:#151a26; --card:#1d2434; --ink:#e9ecf6; --soft:#abb4c9; --line:#353f57; --accent:#a9b3ff; --on:#141929;
  --heat:150,163,255; --warn:#ffab93; --hatch:#2b3449; }
p.title { margin:0 0 .5rem; font-weight:650; }
p { margin:.4rem 0; } .soft { color:var(--soft); }
.bar { display:flex; flex-wrap:wrap; gap:.5rem .6rem; align-items:center; margin:0 0 .8rem; }
button, select, input { font:inherit; color:inherit; }
button { cursor:pointer; border:1px solid var(--line); background:var(--card); border-radius:8px; padding:.35rem .75rem; min-height:2.2rem; }
button:hover { border-color:var(--accent); }
button[aria-pressed=true], [role=tab][aria-selected=true] { background:var(--accent); border-color:var(--accent); color:var(--on); font-weight:600; }
button:disabled { opacity:.55; cursor:default; }
:focus-visible { outline:3px solid var(--accent); outline-offset:2px; }
label { display:inline-flex; gap:.45rem; align-items:center; min-height:2.2rem; }
input[type=checkbox] { width:1.15rem; height:1.15rem; accent-color:var(--accent); }
select { background:var(--card); border:1px solid var(--line); border-radius:8px; padding:.3rem .5rem; min-height:2.2rem; }
.tabs { display:flex; gap:.4rem; border-bottom:1px solid var(--line); margin:1rem 0; padding-bottom:.6rem; }
.inputs { display:flex; flex-wrap:wrap; gap:.8rem 1.6rem; }
table.wide { border-spacing:2px; } table.wide td.cell button { width:2.9rem; font-size:.8rem; padding:.2rem 0; }
table.wide td.result { min-width:2.7rem; font-size:.8rem; padding:.2rem .25rem; } table.wide th { font-size:.76rem; padding:.1rem .15rem; }
.scroll { overflow-x:auto; max-width:100%; padding:3px; }
table { border-collapse:separate; border-spacing:3px; }
caption { text-align:left; font-weight:650; padding-bottom:.2rem; white-space:nowrap; }
th { font-weight:500; color:var(--soft); font-size:.82rem; padding:.1rem .3rem; white-space:nowrap; }
td { padding:0; text-align:right; }
td input { width:4.2rem; text-align:right; border:1px solid var(--line); background:var(--card); border-radius:6px; padding:.2rem .3rem; -moz-appearance:textfield; }
td input::-webkit-inner-spin-button { display:none; }
td input[aria-invalid=true] { border:2px solid var(--warn); }
td.cell button { width:3.65rem; font-size:.9rem; padding:.25rem .2rem; text-align:center; border-radius:6px; min-height:2.3rem; color:var(--ink);
  font-weight:400; background:rgba(var(--heat), calc(var(--share) * .5)) ; border-color:var(--line); }
td.cell.out button { color:var(--soft); background:repeating-linear-gradient(45deg, transparent 0 5px, var(--hatch) 5px 7px); border-style:dashed; }
td.cell button[aria-pressed=true] { outline:3px solid var(--accent); outline-offset:-1px; font-weight:650; }
td.cell.row button { border-color:var(--accent); }
td.result { padding:.2rem .4rem; background:var(--card); border-radius:6px; min-width:3.1rem; font-size:.9rem; }
td.gap, th.gap { width:.5rem; }
tr.dead td.result, td.bad { color:var(--warn); font-weight:600; }
.trace { background:var(--card); border-radius:12px; padding:.9rem 1.1rem; margin-top:1rem; }
.trace ol { list-style:none; margin:.4rem 0 0; padding:0; display:grid; gap:.1rem; }
.trace li { display:grid; grid-template-columns:6.6rem 1fr auto; gap:.2rem .9rem; padding:.32rem 0; border-top:1px solid var(--line); align-items:baseline; }
.trace li b { font-weight:600; } .trace li output { font-weight:650; white-space:nowrap; }
.trace li span { color:var(--soft); overflow-wrap:anywhere; }
.strip td.cell div { width:4.1rem; border:1px solid var(--line); border-radius:6px; padding:.25rem; text-align:center; min-height:2.1rem; }
.strip td.now div { border:2px solid var(--accent); font-weight:650; background:rgba(var(--heat), .16); }
.strip td.later div { color:var(--soft); border-style:dashed; }
.verdict { border-left:4px solid var(--accent); padding:.2rem .8rem; margin:.9rem 0 0; }
.verdict.bad { border-color:var(--warn); }
.gone { position:absolute; width:1px; height:1px; overflow:hidden; clip-path:inset(50%); white-space:nowrap; }
[hidden] { display:none !important; }
@media (max-width:34rem) { .trace li { grid-template-columns:1fr auto; } .trace li span { grid-column:1 / -1; grid-row:2; }
  td.cell button, .strip td.cell div { width:3.3rem; font-size:.82rem; padding:.2rem .1rem; } td input { width:3.6rem; } }
`;

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child != null));
  return node;
}

const Base = globalThis.HTMLElement ?? class {};

export class AttentionPlayground extends Base {
  state = preset("copy");
  chosen = "copy";
  view = "one-shot";
  show = "s";
  cell = [2, 1];
  chunk = 2;
  step = 0;
  row = 2;
  guard = "within";

  connectedCallback() {
    if (this.shadowRoot) return;
    this.view = this.getAttribute("view") === "online" ? "online" : "one-shot";
    this.use(PRESETS[this.getAttribute("preset")] ? this.getAttribute("preset") : "copy", false);
    const root = this.attachShadow({ mode: "open" });
    this.app = make("section", { class: "app", "aria-label": "Attention playground" });
    this.live = make("div", { class: "gone", role: "status" });
    root.append(make("style", {}, STYLE), this.app, this.live);
    this.follow = () => this.app.setAttribute("data-theme", darkPage() ? "dark" : "light");
    this.watcher = new MutationObserver(this.follow);
    this.watcher.observe(document.documentElement, { attributes: true });
    this.watcher.observe(document.body, { attributes: true });
    this.media = matchMedia("(prefers-color-scheme: dark)");
    this.media.addEventListener("change", this.follow);
    this.follow();
    this.draw();
  }

  disconnectedCallback() {
    this.watcher?.disconnect();
    this.media?.removeEventListener("change", this.follow);
  }

  get tile() {
    return attention(this.state);
  }

  // The numbers as they are calculated, for tests and notebooks.
  get result() {
    const rows = this.tile.rows.slice(0, this.state.q.length);
    return { s: rows.map((r) => r.s), p: rows.map((r) => r.share), o: rows.map((r) => r.o), lse: rows.map((r) => r.lse) };
  }

  use(name, draw = true) {
    this.chosen = name;
    this.state = preset(name);
    [this.step, this.guard, this.cell, this.row] = [0, "within", [2, name === "far" ? 3 : 1], 2];
    if (draw) this.changed(`${PRESETS[name].title}. ${PRESETS[name].words}`);
  }

  changed(words) {
    this.draw();
    this.say(words);
    this.dispatchEvent(new CustomEvent("change", { bubbles: true, composed: true, detail: structuredClone(this.state) }));
  }

  say(words) {
    if (words) this.live.textContent = words;
  }

  // Draw everything anew, and give the focus back to what had it.
  draw() {
    const focused = this.shadowRoot.activeElement?.getAttribute("data-focus");
    const place = this.shadowRoot.activeElement?.tagName === "INPUT" ? null : focused;
    this.app.replaceChildren(
      this.presets(), this.switches(), this.inputs(), this.tabs(), this.view === "online" ? this.onlinePanel() : this.tilePanel(),
    );
    const again = place ?? focused;
    if (again) this.shadowRoot.querySelector(`[data-focus="${again}"]`)?.focus({ preventScroll: true });
  }

  presets() {
    const buttons = Object.entries(PRESETS).map(([name, { title }]) =>
      make("button", {
        type: "button", "data-focus": `preset-${name}`, "aria-pressed": String(this.chosen === name), onclick: () => this.use(name),
      }, title));
    return make("div", {}, make("div", { class: "bar", role: "group", "aria-label": "Examples" }, buttons),
      make("p", { class: "soft" }, PRESETS[this.chosen].words));
  }

  toggle(name, label, words) {
    const box = make("input", {
      type: "checkbox", "data-focus": name,
      onchange: () => {
        this.state[name] = box.checked;
        this.changed(words(box.checked));
      },
    });
    box.checked = this.state[name];
    return make("label", {}, box, label);
  }

  pick(focus, label, options, value, change) {
    const select = make("select", { "data-focus": focus, onchange: () => change(select.value) },
      options.map(([key, words]) => make("option", { value: key, selected: String(key) === String(value) }, words)));
    return make("label", {}, label, select);
  }

  switches() {
    const tokens = this.state.q.length;
    return make("div", { class: "bar" },
      this.toggle("causal", "causal mask", (on) => (on ? "The future is hidden: its scores are minus infinity." : "Every query sees every key.")),
      this.state.block > tokens ? this.toggle("maskGhosts", "mask ghosts", (on) => (on ? "Ghosts are at minus infinity." : "Ghosts keep their score of 0.")) : null,
      this.pick("padding", "hidden keys at the left", [0, 1, 2, 3].filter((n) => n < tokens).map((n) => [n, n]), this.state.padding,
        (value) => { this.state.padding = Number(value); this.changed(`${value} keys at the left are hidden.`); }));
  }

  inputs() {
    const tables = ["q", "k", "v"].map((name) => {
      const rows = this.state[name].map((numbers, i) => make("tr", {}, make("th", { scope: "row" }, `${name}${i}`),
        numbers.map((x, d) => {
          const input = make("input", {
            type: "number", step: "any", value: String(x), inputmode: "decimal", "data-focus": `${name}-${i}-${d}`,
            "aria-label": `${name.toUpperCase()}, token ${i}, number ${d}`,
            onchange: () => {
              const number = input.valueAsNumber;
              if (!Number.isFinite(f32(number))) {
                input.setAttribute("aria-invalid", "true");
                this.say("That is no number. The last one is kept.");
                return;
              }
              this.state[name][i][d] = number;
              this.changed(`${name.toUpperCase()} of token ${i} changed.`);
            },
          });
          return make("td", {}, input);
        })));
      return make("table", {}, make("caption", {}, { q: "Q: what a token looks for", k: "K: what it offers", v: "V: what it hands over" }[name]),
        make("tbody", {}, rows));
    });
    return make("details", { open: this.open ?? false, ontoggle: (event) => { this.open = event.target.open; } },
      make("summary", { "data-focus": "numbers" }, "The numbers of Q, K and V, to edit"),
      make("div", { class: "inputs" }, tables.map((table) => make("div", { class: "scroll" }, table))));
  }

  tabs() {
    const views = [["one-shot", "One shot"], ["online", "Online softmax"]];
    const go = (view) => { this.view = view; this.draw(); };
    const tabs = views.map(([view, title], place) => make("button", {
      type: "button", role: "tab", id: `tab-${view}`, "aria-controls": "panel", "data-focus": `tab-${view}`,
      "aria-selected": String(this.view === view), tabindex: this.view === view ? "0" : "-1", onclick: () => go(view),
      onkeydown: (event) => {
        if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
        const next = views[1 - place][0];
        go(next);
        this.shadowRoot.querySelector(`#tab-${next}`).focus();
      },
    }, title));
    return make("div", { class: "tabs", role: "tablist", "aria-label": "Two ways to the same output" }, tabs);
  }

  panel(...children) {
    return make("div", { id: "panel", role: "tabpanel", "aria-labelledby": `tab-${this.view}` }, children);
  }

  // ---- first view: the whole tile at once

  tilePanel() {
    const { state, tile } = this;
    const tokens = state.q.length;
    const columns = tile.v[0].length;
    const head = make("tr", {}, make("td"), tile.k.map((_, j) => make("th", { scope: "col" }, j < tokens ? `k${j}` : `ghost ${j}`)),
      make("td", { class: "gap" }), ["m", "l", ...Array.from({ length: columns }, (_, d) => `o[${d}]`)].map((name) => make("th", { scope: "col" }, name)));
    const rows = tile.rows.map((row, i) => make("tr", { class: row.m === -Infinity && i < tokens ? "dead" : null },
      make("th", { scope: "row" }, i < tokens ? `q${i}` : `ghost ${i}`), row.s.map((_, j) => this.scoreCell(row, i, j)), make("td", { class: "gap" }),
      [row.m, row.l, ...row.o].map((x) => make("td", { class: "result" }, shown(x)))));
    const shows = [["s", "scores"], ["share", "probabilities"]].map(([name, words]) => make("button", {
      type: "button", "data-focus": `show-${name}`, "aria-pressed": String(this.show === name), onclick: () => { this.show = name; this.draw(); },
    }, words));
    return this.panel(
      make("div", { class: "bar", role: "group", "aria-label": "What the cells show" }, shows,
        make("span", { class: "soft" }, "Choose a cell to follow its score. Deeper colour: more weight.")),
      make("div", { class: "scroll" }, make("table", { class: state.block > 6 ? "wide" : null }, make("caption", {}, "One query a row, one key a column"), make("thead", {}, head),
        make("tbody", { onkeydown: (event) => this.move(event) }, rows))),
      this.tracePanel());
  }

  scoreCell(row, i, j) {
    const here = this.cell[0] === i && this.cell[1] === j;
    const out = row.why[j];
    const words = `query ${i}, key ${j}: score ${shown(row.s[j])}, probability ${shown(row.share[j])}${out ? `, ${out}` : ""}`;
    return make("td", { class: `cell${out ? " out" : ""}${this.cell[0] === i ? " row" : ""}` }, make("button", {
      type: "button", "data-focus": `cell-${i}-${j}`, "data-row": i, "data-column": j, "aria-label": words, "aria-pressed": String(here),
      tabindex: here ? "0" : "-1", style: `--share:${row.share[j].toFixed(3)}`, onclick: () => this.choose(i, j),
    }, shown(this.show === "s" ? row.s[j] : row.share[j])));
  }

  choose(i, j) {
    this.cell = [i, j];
    this.row = i;
    this.draw();
    const row = this.tile.rows[i];
    this.say(`Query ${i} meets key ${j}: score ${shown(row.s[j])}, probability ${shown(row.share[j])}. The steps are below the table.`);
  }

  move(event) {
    const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!by || event.target.dataset.row === undefined) return;
    event.preventDefault();
    const last = this.state.block - 1;
    const [i, j] = [Number(event.target.dataset.row) + by[0], Number(event.target.dataset.column) + by[1]];
    const to = [Math.min(Math.max(i, 0), last), Math.min(Math.max(j, 0), last)];
    this.choose(...to);
    this.shadowRoot.querySelector(`[data-focus="cell-${to[0]}-${to[1]}"]`).focus();
  }

  tracePanel() {
    const [i, j] = this.cell;
    const steps = trace(this.state, this.tile, i, j).map(([name, how, result]) =>
      make("li", { "data-step": name }, make("b", {}, name), make("span", {}, how), make("output", {}, result)));
    return make("div", { class: "trace" }, make("p", { class: "title" }, `Query ${i} meets key ${j}`), make("ol", {}, steps));
  }

  // ---- second view: chunk by chunk

  onlinePanel() {
    const { state } = this;
    const tokens = state.q.length;
    const all = online(state, this.chunk, this.guard);
    const count = all[0].length - 1;
    this.step = Math.min(this.step, count);
    this.row = Math.min(this.row, tokens - 1);
    const go = (to) => () => {
      this.step = Math.min(Math.max(to, 0), count);
      this.draw();
      const now = online(this.state, this.chunk, this.guard)[this.row][this.step];
      this.say(`After ${this.step} of ${count} chunks: m ${shown(now.m)}, l ${shown(now.l)}, acc ${vector(now.acc)}.`);
    };
    const button = (name, words, to, off) => make("button", { type: "button", "data-focus": name, disabled: off, onclick: go(to) }, words);
    const controls = make("div", { class: "bar" },
      this.pick("chunk", "keys a chunk", [1, 2, 3, 4, 8].filter((n) => n <= state.block).map((n) => [n, n]), this.chunk,
        (value) => { [this.chunk, this.step] = [Number(value), 0]; this.draw(); }),
      this.pick("row", "follow query", state.q.map((_, i) => [i, i]), this.row, (value) => { this.row = Number(value); this.draw(); }),
      this.pick("guard", "a row without a maximum", [["within", "0 inside the exponentials only"], ["carried", "0 carried on as the maximum"]], this.guard,
        (value) => { this.guard = value; this.draw(); }));
    const steps = make("div", { class: "bar", role: "group", "aria-label": "Chunks" },
      button("start", "Start", 0, this.step === 0), button("back", "Back", this.step - 1, this.step === 0),
      button("next", "Next chunk", this.step + 1, this.step === count), button("end", "End", count, this.step === count),
      make("span", { class: "soft", "data-progress": "" }, `${this.step} of ${count} chunks`));
    return this.panel(controls, steps, this.strip(all[this.row][this.step]), this.updatePanel(all[this.row][this.step]),
      this.statesTable(all), this.step === count ? this.verdict(all) : null);
  }

  strip(now) {
    const row = this.tile.rows[this.row];
    const end = now.before ? now.first + now.scores.length : 0;
    const kind = (j) => (j >= end ? "later" : j >= now.first ? "now" : "seen");
    return make("div", { class: "scroll" }, make("table", { class: "strip" },
      make("caption", {}, `Scores of query ${this.row}, in the order in which they arrive`),
      make("thead", {}, make("tr", {}, row.s.map((_, j) => make("th", { scope: "col" }, `k${j}`)))),
      make("tbody", {}, make("tr", {}, row.s.map((x, j) => make("td", { class: `cell ${kind(j)}` },
        make("div", {}, kind(j) === "later" ? "not yet" : shown(x))))))));
  }

  updatePanel(now) {
    const title = now.before ? `Keys ${now.first} to ${now.first + now.scores.length - 1} come in` : "Before the first chunk";
    const was = now.before;
    const lines = was
      ? [
          ["m", `the larger of ${shown(was.m)} and ${now.scores.map(shown).join(", ")}`, shown(now.m)],
          ["alpha", `exp(old m ${MINUS} new m) = exp(${shown(was.m)} ${MINUS} ${signed(now.ruler)})`, shown(now.alpha)],
          ["p", `exp(s ${MINUS} ${signed(now.ruler)}) for each key of the chunk`, vector(now.w)],
          ["l", `${shown(was.l)} × alpha + ${sum(now.w)}`, shown(now.l)],
          ["acc", `${vector(was.acc)} × alpha + p V, which is ${vector(now.added)}`, vector(now.acc)],
        ]
      : [["m", "nothing seen yet", shown(now.m)], ["l", "an empty sum", "0"], ["acc", "an empty sum", vector(now.acc)]];
    return make("div", { class: "trace" }, make("p", { class: "title" }, title), make("ol", {}, lines.map(([name, how, result]) =>
      make("li", { "data-step": name }, make("b", {}, name), make("span", {}, how), make("output", {}, result)))));
  }

  statesTable(all) {
    const width = this.tile.v[0].length;
    const names = ["m", "l", "alpha", ...Array.from({ length: width }, (_, d) => `acc[${d}]`), ...Array.from({ length: width }, (_, d) => `acc/l [${d}]`)];
    const rows = this.state.q.map((_, i) => {
      const now = all[i][this.step];
      const o = this.step === 0 ? Array(width).fill(0) : settled(now, this.guard);
      const alpha = now.before ? now.alpha : null;
      return make("tr", {}, make("th", { scope: "row" }, i === this.row ? `▸ q${i}` : `q${i}`),
        [now.m, now.l, alpha, ...now.acc, ...o].map((x) => make("td", { class: `result${Number.isNaN(x) ? " bad" : ""}` }, x === null ? "" : shown(x))));
    });
    return make("div", { class: "scroll", style: "margin-top:1rem" }, make("table", { class: "states" },
      make("caption", {}, "What the kernel holds: three running values a row, however many keys there are"),
      make("thead", {}, make("tr", {}, make("td"), names.map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, rows)));
  }

  verdict(all) {
    const one = this.tile.rows;
    const differences = this.state.q.flatMap((_, i) => settled(all[i].at(-1), this.guard).map((x, d) => Math.abs(x - one[i].o[d])));
    const lost = this.state.q.filter((_, i) => settled(all[i].at(-1), this.guard).some(Number.isNaN)).length;
    const words = lost
      ? `${lost} of ${this.state.q.length} rows are lost: every exponential was 0, and 0 ÷ 0 is NaN. One-shot attention has them right.`
      : `The same O as in one shot. Largest difference: ${shown(Math.max(...differences))}.`;
    return make("p", { class: `verdict${lost ? " bad" : ""}`, "data-verdict": "" }, words);
  }
}

// Whether the page around is dark: as it says itself (this course's pages, JupyterLab), else as the system is set.
function darkPage() {
  const theme = document.documentElement.dataset.theme ?? document.body.dataset.theme;
  if (theme === "dark" || theme === "light") return theme === "dark";
  if (document.body.dataset.jpThemeLight) return document.body.dataset.jpThemeLight === "false";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

const NAME = "attention-playground";
if (globalThis.customElements && !customElements.get(NAME)) customElements.define(NAME, AttentionPlayground);

// For anywidget: the traits `preset` and `view` say how it begins; `state`, if the model has it, follows the changes.
export function render({ model, el }) {
  const element = document.createElement(NAME);
  for (const name of ["preset", "view"]) {
    const value = model?.get?.(name);
    if (value) element.setAttribute(name, value);
  }
  const changed = (event) => {
    if (model?.get?.("state") === undefined) return;
    model.set("state", event.detail);
    model.save_changes();
  };
  element.addEventListener("change", changed);
  el.append(element);
  return () => element.remove();
}

export default { render };
