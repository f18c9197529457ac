// Links between partners in the gutter, for what is on the screen only, and the strips that show where changes are.

const gutter = $("#gutter");

function onScreen(text) {
  const found = new Set();
  const box = text.pane.getBoundingClientRect();
  for (let block = Math.max(0, lastAbove(text.blocks, box.top)); block < text.blocks.length; block++) {
    if (text.blocks[block].getBoundingClientRect().top > box.bottom) break;
    for (const passage of $$(".p", text.blocks[block])) {
      const { top, bottom } = passage.getBoundingClientRect();
      if (bottom > box.top && top < box.bottom) found.add(Number(passage.dataset.p));
    }
  }
  return found;
}

// Top and bottom of a pair in the gutter; for a block far off the block's own place will do.
function inGutter(text, number, frame) {
  const parts = text.ofPair.get(number);
  const block = parts[0].parentElement.getBoundingClientRect();
  if (block.bottom < frame.top - 400) return [-60, -50];
  if (block.top > frame.bottom + 400) return [frame.height + 50, frame.height + 60];
  const top = parts[0].getBoundingClientRect().top - frame.top;
  const bottom = parts[parts.length - 1].getBoundingClientRect().bottom - frame.top;
  return [top + 2, bottom - 2];
}

// The more alike, the darker; what is the same stays in the background.
function darkness(state, score) {
  return { s: 0.22, e: 0.08 + 0.6 * score ** 2, m: 0.25 + 0.75 * score }[state];
}

function drawLinks() {
  if (!bothShown() || !gutter.clientWidth) return;
  const frame = gutter.getBoundingClientRect();
  const width = frame.width;
  const half = width / 2;
  const paths = [];
  for (const number of new Set([...onScreen(texts.a), ...onScreen(texts.b)])) {
    const state = data.states[number];
    if (state === "a" || state === "b" || [texts.a, texts.b].some((text) => text.ofPair.get(number)[0].hidden)) continue;
    const [top, bottom] = inGutter(texts.a, number, frame);
    const [otherTop, otherBottom] = inGutter(texts.b, number, frame);
    const score = Math.max(0, data.scores[number] / 100);
    const [middle, otherMiddle] = [(top + bottom) / 2, (otherTop + otherBottom) / 2];
    const line = `M0 ${middle}C${half} ${middle} ${half} ${otherMiddle} ${width} ${otherMiddle}`;
    const band = `M0 ${top}C${half} ${top} ${half} ${otherTop} ${width} ${otherTop}V${otherBottom}C${half} ${otherBottom} ${half} ${bottom} 0 ${bottom}Z`;
    const path = drawn("path", {
      d: state === "m" ? line : band,
      class: number === chosen ? `${state} on` : state,
      "data-p": number,
      [state === "m" ? "stroke-opacity" : "fill-opacity"]: darkness(state, score).toFixed(2),
    });
    path.append(drawn("title", {}));
    path.firstChild.textContent = `${STATES[state]}, score ${score.toFixed(2)}`;
    paths.push(path);
  }
  gutter.setAttribute("viewBox", `0 0 ${width} ${frame.height}`);
  gutter.replaceChildren(...paths);
}

gutter.addEventListener("click", (event) => {
  const path = event.target.closest("path");
  if (path) choose(Number(path.dataset.p));
});
gutter.addEventListener(
  "wheel",
  (event) => {
    takeLead("a");
    texts.a.pane.scrollTop += event.deltaY;
  },
  { passive: true },
);

// One path for all changes of a state: a document may have thousands.
function drawStrips() {
  for (const text of Object.values(columns)) {
    if (!shown(text)) continue;
    const strip = $(`#strip-${text.side}`);
    const shapes = { e: "", m: "", a: "", b: "" };
    text.places = [];
    const height = Math.max(1, text.pane.scrollHeight);
    const shift = offset(text);
    for (const block of text.blocks) {
      const box = block.getBoundingClientRect();
      const inside = $$(".p", block);
      inside.forEach((passage, place) => {
        const number = Number(passage.dataset.p);
        const top = (1000 * (box.top + shift + (box.height * place) / inside.length)) / height;
        text.places.push([top, number]);
        const state = data.states[number];
        if (state === "s" || !visibleRows.has(number)) return;
        const tall = Math.max(1.6, (1000 * box.height) / inside.length / height);
        shapes[state] += `M1 ${top.toFixed(1)}h9v${tall.toFixed(1)}h-9z`;
      });
    }
    strip.replaceChildren(
      ...Object.entries(shapes).map(([state, d]) => drawn("path", { class: state, d })),
      drawn("path", { class: "on", d: "" }),
    );
  }
  markStrips();
}

function markStrips() {
  for (const text of Object.values(columns)) {
    const mark = $(`#strip-${text.side} .on`);
    const found = (text.places ?? []).find(([, number]) => number === chosen);
    if (mark) mark.setAttribute("d", found ? `M0 ${found[0]}h10v4h-10z` : "");
  }
}

for (const side of ["a", "b", "m"]) {
  $(`#strip-${side}`).addEventListener("click", (event) => {
    const { pane } = columns[side];
    const box = event.currentTarget.getBoundingClientRect();
    if (OTHER[side]) takeLead(side);
    pane.scrollTop = ((event.clientY - box.top) / box.height) * pane.scrollHeight - pane.clientHeight / 3;
  });
}
