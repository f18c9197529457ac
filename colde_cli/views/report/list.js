// The list of changes: filters, next and previous, the change chosen.

const rows = $$("#list li");
const rowOf = new Map(rows.map((row) => [Number(row.dataset.p), row]));
let order = rows;
let places = new Map();
let visibleRows = new Map(rowOf);
let chosen = -1;

const numberOf = (row) => Number(row.dataset.p);

// The list in reading order, or with the weightiest changes first.
function arrange() {
  const byWeight = $("#flagged-first")?.getAttribute("aria-pressed") === "true";
  order = byWeight ? [...rows].sort((one, other) => other.dataset.w - one.dataset.w) : rows;
  places = new Map(order.map((row, place) => [numberOf(row), place]));
}

function pressed(kind) {
  return $$(`.chip[data-${kind}][aria-pressed="true"]`).map((chip) => chip.dataset[kind]);
}

// Of a long list only a window is laid out; it grows where the reader scrolls, and moves to the change chosen.
const WINDOW = 200;
const listBox = $("#changes");
let range = [0, WINDOW];

function showRows(from, to) {
  range = [Math.max(0, from), to];
  const shownNow = new Set([...visibleRows.values()].slice(...range));
  for (const row of rows) row.hidden = !shownNow.has(row);
}

function showRowOf(number) {
  const place = [...visibleRows.keys()].indexOf(number);
  if (place >= 0 && (place < range[0] || place >= range[1])) showRows(place - WINDOW / 4, place + WINDOW);
}

listBox.addEventListener(
  "scroll",
  eachFrame(() => {
    const below = listBox.scrollHeight - listBox.clientHeight - listBox.scrollTop;
    if (below < 800 && range[1] < visibleRows.size) showRows(range[0], range[1] + WINDOW / 2);
    if (listBox.scrollTop < 400 && range[0] > 0) showRows(range[0] - WINDOW / 2, range[1]);
  }),
  { passive: true },
);

function filter() {
  const states = pressed("state");
  const kinds = pressed("kind");
  visibleRows = new Map();
  for (const row of order) {
    const flags = (row.dataset.k ?? "").split(" ");
    const kept =
      (!states.length || states.includes(row.className)) && (!kinds.length || kinds.some((kind) => flags.includes(kind)));
    if (kept) visibleRows.set(numberOf(row), row);
  }
  showRows(0, WINDOW);
  const empty = $(".empty");
  if (empty) empty.hidden = visibleRows.size > 0;
  tellCount();
  requestAnimationFrame(drawStrips);
}

// Press these chips and no others.
function only(test) {
  for (const chip of $$(".filters .chip")) chip.setAttribute("aria-pressed", String(test(chip)));
  filter();
}

function tellCount() {
  const numbers = [...visibleRows.keys()];
  const place = numbers.indexOf(chosen);
  const of = `${numbers.length.toLocaleString("en")} change${numbers.length === 1 ? "" : "s"}`;
  $("#count").textContent = place < 0 ? of : `${place + 1} of ${of}`;
  for (const name of ["previous", "next"]) $(`#${name}`).disabled = !numbers.length;
}

// Goes to the next change that the filters leave, from wherever in the list the reader is, and around its ends.
function step(direction) {
  const numbers = [...visibleRows.keys()];
  if (!numbers.length) return;
  const from = places.get(chosen) ?? (direction > 0 ? -1 : places.size);
  const ahead = numbers.filter((number) => direction * (places.get(number) - from) > 0);
  choose(direction > 0 ? ahead[0] ?? numbers[0] : ahead.pop() ?? numbers[numbers.length - 1]);
}

// Chooses a pair: it is shown level on both sides, in the list, in the strip and in the address.
function choose(number, { keepAddress = false } = {}) {
  if (!(number >= 0 && number < data.states.length)) return;
  chosen = number;
  if (!inTexts()) show(reading);
  for (const on of $$(".p.on, .h.on")) on.classList.remove("on");
  for (const text of Object.values(columns)) {
    for (const passage of text.ofPair.get(number) ?? []) passage.classList.add("on");
  }
  for (const link of $$("#list a[aria-current]")) link.removeAttribute("aria-current");
  const link = rowOf.get(number)?.firstElementChild;
  link?.setAttribute("aria-current", "true");
  // From change to change the address changes in place: Back leads to where the reader came from.
  const within = keepAddress || /^#[pqr]\d+/.test(location.hash);
  const place = `#${reading === "redline" ? "r" : "p"}${number}`;
  history[within ? "replaceState" : "pushState"](null, "", addressed(place));
  // The redline shows already what the box would.
  $("#detail").hidden = reading === "redline";
  if (reading === "text") showDetail(number);
  else $(`#r${number} .note`)?.append(copyButton());
  // Only now does the list have its height.
  showRowOf(number);
  link?.scrollIntoView({ block: "nearest" });
  tellCount();
  markStrips();
  for (const column of Object.values(columns)) unfold(column.ofPair.get(number)?.[0]);
  const seen = $("#text").dataset.tab;
  if (reading === "redline" && medium.matches && seen === "list") tab("a");
  else if (reading === "text" && !bothShown() && OTHER[seen] && !texts[seen].ofPair.has(number)) tab(OTHER[seen]);
  else level(number);
}

// Brings a pair to the same height in both texts; where only one is shown and lacks it, what precedes it there.
function level(number) {
  if (reading === "redline") return bring({ m: columns.m.ofPair.get(number)?.[0] });
  const at = (side) => texts[side].ofPair.get(number)?.[0];
  const alone = ["a", "b"].filter((side) => shown(texts[side]));
  if (alone.length !== 1) return bring({ a: at("a"), b: at("b") });
  let before = number;
  while (before > 0 && !(texts[alone[0]].ofPair.has(before) && "se".includes(data.states[before]))) before--;
  return bring({ [alone[0]]: at(alone[0]) ?? texts[alone[0]].ofPair.get(before)?.[0] });
}

function tab(name) {
  const before = $("#text").dataset.tab;
  const pair = chosen >= 0 || before === "list" ? chosen : pairAtLine();
  $("#text").dataset.tab = name;
  arrangePanes();
  for (const button of $$(".tabs button")) button.setAttribute("aria-pressed", String(button.dataset.tab === name));
  if (before !== name) laidOut();
  if (before !== name && pair >= 0) level(pair);
}

arrange();
for (const chip of $$(".chip")) {
  chip.addEventListener("click", () => {
    chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
    if (chip.id === "flagged-first") {
      arrange();
      $("#list").append(...order);
    }
    filter();
  });
}
for (const button of $$(".tabs button")) button.addEventListener("click", () => tab(button.dataset.tab));
$("#previous").addEventListener("click", () => step(-1));
$("#next").addEventListener("click", () => step(1));
