// The two texts: where things are in them, and scrolling them together so that partners stay level.

const OTHER = { a: "b", b: "a" };

// A column of text, and where the pairs are in it.
function columnOf(side, pane) {
  const passages = $$(".p", pane);
  const ofPair = new Map();
  passages.forEach((passage) => {
    const number = Number(passage.dataset.p);
    if (!ofPair.has(number)) ofPair.set(number, []);
    ofPair.get(number).push(passage);
  });
  return { side, pane, passages, ofPair, blocks: $$(".blk", pane) };
}

const texts = { a: columnOf("a", $("#pane-a")), b: columnOf("b", $("#pane-b")) };
// With the redline, "m", once it is made.
const columns = { ...texts };

// Narrow screens show the texts in tabs, and first of all the redline.
const medium = matchMedia("(max-width: 1180px)");
const small = matchMedia("(max-width: 760px)");
// Which of the two was read last: "text", side by side, or "redline".
let reading = small.matches ? "redline" : "text";

// Shows the columns of the view. One that only a tab hides can be found; one whose words another shows cannot.
function arrangePanes() {
  const { tab: seen } = $("#text").dataset;
  const inList = medium.matches && seen === "list";
  const asRedline = reading === "redline";
  if (asRedline) makeRedline();
  $("#text").dataset.reading = reading;
  conceal(redlinePane, !asRedline ? "" : inList ? FINDABLE : null);
  for (const { side, pane } of Object.values(texts)) {
    conceal(pane, asRedline ? "" : inList || (small.matches && seen !== side) ? FINDABLE : null);
  }
}

// Only what kept its order can be level on both sides.
const anchored = (passage) => "se".includes(data.states[Number(passage.dataset.p)]);
for (const text of Object.values(texts)) {
  const count = text.passages.length;
  text.index = new Map(text.passages.map((passage, place) => [passage, place]));
  text.before = new Int32Array(count).fill(-1);
  text.after = new Int32Array(count).fill(-1);
  for (let place = 0, last = -1; place < count; place++) {
    if (anchored(text.passages[place])) last = place;
    text.before[place] = last;
  }
  for (let place = count - 1, next = -1; place >= 0; place--) {
    if (anchored(text.passages[place])) next = place;
    text.after[place] = next;
  }
}

const shown = (column) => inTexts() && Boolean(column) && !column.pane.hidden && column.pane.clientHeight > 0;
const bothShown = () => shown(texts.a) && shown(texts.b);

// How far a text's elements are from the top of its content.
function offset(text) {
  return text.pane.scrollTop - text.pane.getBoundingClientRect().top;
}

// The last of `elements` that begins at or above a place on the screen; they are in order.
function lastAbove(elements, place) {
  let low = 0;
  let high = elements.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (elements[middle].getBoundingClientRect().top <= place) low = middle;
    else high = middle - 1;
  }
  return elements.length ? low : -1;
}

// The passage at or above a place on the screen. Only blocks near it are looked into: the others are not laid out.
function passageAt(text, place) {
  for (let block = lastAbove(text.blocks, place); block >= 0; block--) {
    const inside = $$(".p", text.blocks[block]);
    if (inside.length && inside[0].getBoundingClientRect().top <= place) return inside[lastAbove(inside, place)];
  }
  return text.passages[0];
}

// Top and bottom of a pair in the content of a text.
function extent(text, number) {
  const parts = text.ofPair.get(number);
  const shift = offset(text);
  return [
    parts[0].getBoundingClientRect().top + shift,
    parts[parts.length - 1].getBoundingClientRect().bottom + shift,
  ];
}

const pairOf = (text, place) => Number(text.passages[place].dataset.p);

// Where in the other text the place `y` of this one is.
function counterpart(from, y) {
  const own = texts[from];
  const other = texts[OTHER[from]];
  if (!own.passages.length || !other.passages.length) return 0;
  const here = own.index.get(passageAt(own, y - offset(own)));
  let [start, begin, end, finish] = [0, 0, own.pane.scrollHeight, other.pane.scrollHeight];
  if (own.before[here] >= 0) {
    const number = pairOf(own, own.before[here]);
    const [top, bottom] = extent(own, number);
    const [otherTop, otherBottom] = extent(other, number);
    if (y >= top && y <= bottom) {
      return otherTop + ((y - top) / Math.max(1, bottom - top)) * (otherBottom - otherTop);
    }
    if (y > bottom) [start, begin] = [bottom, otherBottom];
  }
  const next = own.before[here] === here ? own.after[here + 1] ?? -1 : own.after[here];
  if (next >= 0) {
    const number = pairOf(own, next);
    [end, finish] = [extent(own, number)[0], extent(other, number)[0]];
  }
  const share = Math.min(1, Math.max(0, (y - start) / Math.max(1, end - start)));
  return begin + share * (finish - begin);
}

// The line that is kept level: a third down, but at the ends the ends.
function readingLine(pane) {
  const height = Math.max(1, pane.clientHeight);
  if (pane.scrollTop < height / 3) return pane.scrollTop / height;
  const left = pane.scrollHeight - height - pane.scrollTop;
  return Math.max(1 / 3, 1 - left / height);
}

// A pair near the reading line of a column, in a text one that both have; -1 where there is none.
function pairInView(text) {
  if (!shown(text) || !text.passages.length) return -1;
  const line = text.pane.getBoundingClientRect().top + text.pane.clientHeight / 3;
  const at = passageAt(text, line);
  if (!text.index) return Number(at.dataset.p);
  const here = text.index.get(at);
  const near = text.before[here] >= 0 ? text.before[here] : text.after[here];
  return near < 0 ? -1 : pairOf(text, near);
}

// The pair that is being read; -1 where no text is shown.
const pairAtLine = () => [columns.m, texts[leader], texts.b].map(pairInView).find((number) => number >= 0) ?? -1;

let linked = true;
let leader = "a";
// Scrolls that the page makes itself do not count as the reader's, and what it has just levelled stays as it is. Both for
// so many frames: a browser tells of scrolls once a frame, however slow the machine is.
let quiet = 0;
let held = 0;
let counting = false;

function countDown() {
  quiet = Math.max(0, quiet - 1);
  held = Math.max(0, held - 1);
  counting = quiet > 0 || held > 0;
  if (counting) requestAnimationFrame(countDown);
}

function keepQuiet(frames) {
  quiet = frames;
  if (!counting) requestAnimationFrame(countDown);
  counting = true;
}

function takeLead(side) {
  leader = side;
  quiet = 0;
  held = 0;
}

function place(text, top) {
  keepQuiet(15);
  text.pane.scrollTop = top;
}

function follow(from) {
  if (!bothShown()) return;
  const own = texts[from].pane;
  const other = texts[OTHER[from]];
  const line = readingLine(own);
  const y = counterpart(from, own.scrollTop + line * own.clientHeight);
  place(other, y - line * other.pane.clientHeight);
}

const redraw = eachFrame(() => drawLinks());
for (const text of Object.values(texts)) {
  const lead = () => takeLead(text.side);
  for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) {
    text.pane.addEventListener(kind, lead, { passive: true });
  }
  text.pane.addEventListener(
    "scroll",
    eachFrame(() => {
      redraw();
      if (held) return;
      // A search of the browser scrolls a text that nobody has touched.
      if (leader !== text.side && !quiet) leader = text.side;
      if (linked && leader === text.side) follow(text.side);
    }),
    { passive: true },
  );
}

// Brings elements of either text, or one of the redline, to the same height; what one side lacks follows the other.
function bring(targets) {
  const present = Object.keys(targets).filter((side) => targets[side]);
  const settle = (left) => {
    let height = 0;
    for (const side of present) {
      const box = targets[side].getBoundingClientRect();
      height = Math.max(height, box.height);
    }
    for (const side of present) {
      const text = columns[side];
      if (!shown(text)) continue;
      const box = targets[side].getBoundingClientRect();
      const above = Math.max(48, Math.min(text.pane.clientHeight / 3, text.pane.clientHeight - height - 24));
      place(text, box.top + offset(text) - above);
    }
    if (present.length === 1 && OTHER[present[0]]) {
      leader = present[0];
      follow(present[0]);
    }
    redraw();
    // Blocks that were never on the screen get their true height only now.
    if (left) requestAnimationFrame(() => settle(left - 1));
  };
  held = 24;
  settle(3);
}

const lengths = new WeakMap();

function lengthsOf(block) {
  if (!lengths.has(block)) lengths.set(block, [...block.children].map((item) => item.textContent.length));
  return lengths.get(block);
}

// Heights of blocks that were never shown, guessed from their letters, so that scrollbar and strip are about right.
function estimateHeights() {
  for (const text of Object.values(columns)) {
    if (!shown(text)) continue;
    const letters = Math.max(20, Math.min(text.side === "m" ? 740 : Infinity, text.pane.clientWidth - 60) / 8.2);
    for (const block of text.blocks) {
      const lines = lengthsOf(block).reduce((sum, length) => sum + Math.ceil(length / letters) + 0.4, 0);
      block.style.containIntrinsicBlockSize = `auto ${Math.round(lines * 25)}px`;
    }
  }
}
