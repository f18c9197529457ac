// Changes only: unchanged passages are folded to a line that opens them, in each column. A search finds them folded, too.

let folded = false;

// A heading stays if something below it does.
function keptItems(items) {
  const kept = new Set();
  let below = 0;
  for (const item of [...items].reverse()) {
    const heading = item.matches(".h") ? item : $(".h", item);
    const level = heading ? Number(heading.localName[1]) : 0;
    const changed = heading ? $(".became, del, ins", item) : item.matches(".p:not(.s), .stub");
    if (changed) below = heading ? level : 7;
    else if (heading && level < below) below = level;
    else continue;
    kept.add(item);
  }
  return kept;
}

// Neighbours that do not stay, without those that hold no passage.
function foldableRuns(column) {
  const items = $$(".blk > :not(.fold)", column.pane);
  const kept = keptItems(items);
  const runs = [[]];
  for (const item of items) {
    if (kept.has(item)) runs.push([]);
    else runs[runs.length - 1].push(item);
  }
  return runs.filter((run) => run.some((item) => item.matches(".p")));
}

function foldColumn(column) {
  for (const run of foldableRuns(column)) {
    const count = new Set(run.filter((item) => item.matches(".p")).map((item) => item.dataset.p)).size;
    const words = `${count.toLocaleString("en")} unchanged passage${count === 1 ? "" : "s"}`;
    const line = element("button", { type: "button", class: "fold", lang: "en" }, words);
    run[0].before(line);
    setRun(line, run, false);
    for (const item of run) foldOf.set(item, { line, run });
    line.addEventListener("click", () => turnRun(run, line.getAttribute("aria-expanded") !== "true"));
  }
  numberPages(column);
}

// A page whose number is folded away is named again where the text goes on.
function numberPages(column) {
  const given = {};
  for (const leaf of $$("[data-last]", column.pane)) {
    const side = leaf.dataset.last[0];
    if (leaf.closest(".row").hidden) continue;
    leaf.classList.toggle("resumed", given[side] !== leaf.dataset.last);
    given[side] = leaf.dataset.last;
  }
}

// The line and the neighbours that an item is folded with.
const foldOf = new WeakMap();

function setRun(line, run, open) {
  line.setAttribute("aria-expanded", String(open));
  for (const item of run) conceal(item, open ? null : FINDABLE);
}

// Opens or closes a run, and the runs of the other columns that hold its passages.
function turnRun(run, open) {
  for (const number of new Set(run.map((item) => Number(item.dataset.p)))) {
    for (const column of Object.values(columns)) {
      const found = foldOf.get(column.ofPair.get(number)?.[0]);
      if (found && (found.line.getAttribute("aria-expanded") === "true") !== open) setRun(found.line, found.run, open);
    }
  }
  laidOut();
}

// Shows an item if it is folded away.
function unfold(item) {
  if (item?.hidden) turnRun(foldOf.get(item).run, true);
}

function setFolded(on) {
  if (on === folded) return;
  const place = pairAtLine();
  folded = on;
  $("#folding").setAttribute("aria-pressed", String(on));
  $("#text").classList.toggle("folded", on);
  for (const column of Object.values(columns)) {
    for (const item of $$("[hidden]", $(".body", column.pane))) conceal(item, null);
    for (const line of $$(".fold", column.pane)) line.remove();
    for (const leaf of $$(".resumed", column.pane)) leaf.classList.remove("resumed");
    for (const item of $$(".blk > *", column.pane)) foldOf.delete(item);
    if (on) foldColumn(column);
  }
  if (!inTexts()) return;
  laidOut();
  if (place >= 0) level(place);
}

function switchFolding() {
  setFolded(!folded);
  const place = location.hash.replace(/,changes$/, "") || `#${root.dataset.view}`;
  history.replaceState(null, "", addressed(place));
}

$("#folding").addEventListener("click", switchFolding);
