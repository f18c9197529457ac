// Addresses, keys, and the first view.

function laidOut() {
  estimateHeights();
  drawStrips();
  redraw();
}

// An address within the page also says whether unchanged passages are folded.
const addressed = (hash) => (folded ? `${hash},changes` : hash);

// What the part after # means: a view, a pair (#p12, from B #q12, in the redline #r12), a section (#as3, #bs3).
function route() {
  const found = /^#(?:(summary|text|redline|maps)|([pqr])(\d+)|([ab]s\d+))(,changes)?$/.exec(location.hash);
  if (!found) return show("summary");
  const [, view, letter, pair, section, changes] = found;
  setFolded(Boolean(changes));
  if (view) return showView(view);
  if (pair !== undefined) {
    reading = letter === "r" ? "redline" : "text";
    if (inTexts()) show(reading);
    return choose(Number(pair), { keepAddress: true });
  }
  return $(`#${section}`) ? goToSection(section) : show("summary");
}

// Shows a view; between both texts and the redline the place is kept.
function showView(view) {
  const place = pairAtLine();
  const other = inTexts() && view !== reading;
  show(view);
  if (view === "redline" && $("#text").dataset.tab === "list") tab("a");
  if (inTexts() && other && place >= 0) level(chosen >= 0 ? chosen : place);
}

function goToSection(section) {
  if (reading === "text") return goTo({ [section[0]]: $(`#${section}`) });
  showView("redline");
  const row = redlineHeading(section);
  unfold(row);
  if (row) bring({ m: row });
}

// Links to changes and lists keep the way of reading; those at the top choose it.
function inReading(link) {
  if (reading === "text" || link.closest("nav")) return link.hash;
  return link.hash.replace(/^#[pq](\d+)$/, "#r$1").replace(/^#text$/, "#redline");
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#"]');
  if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(inReading(link));
  if (link.classList.contains("skip")) (reading === "text" ? texts.a.pane : redlinePane).focus();
  if (link.dataset.only) only((chip) => chip.dataset.state === link.dataset.only);
  if (link.dataset.kind) only((chip) => chip.dataset.kind === link.dataset.kind);
  if ("flagged" in link.dataset) only((chip) => Boolean(chip.dataset.kind));
});
window.addEventListener("popstate", route);
window.addEventListener("hashchange", route);
document.addEventListener("shown-text", laidOut);
window.addEventListener("resize", eachFrame(() => inTexts() && laidOut()));
for (const width of [medium, small]) width.addEventListener("change", () => inTexts() && arrangePanes());

// A search of the browser found something in what is hidden: show it.
document.addEventListener("beforematch", ({ target }) => {
  if (foldOf.has(target)) unfold(target);
  else if (texts[target.id?.slice(-1)]?.pane === target) tab(target.id.slice(-1));
  else if (target === redlinePane) tab("a");
  else if (target.id === "text") openFound(reading);
  else if (target.matches("main > section")) openFound(target.id);
});

function openFound(view) {
  history.pushState(null, "", addressed(`#${view}`));
  show(view);
}

// A click into a passage that changed, not one that selects words in it, chooses it.
for (const pane of [texts.a.pane, texts.b.pane, redlinePane]) {
  pane.addEventListener("click", (event) => {
    const passage = event.target.closest(".p:not(.s)");
    if (passage && !event.target.closest("a") && String(getSelection()) === "") choose(Number(passage.dataset.p));
  });
}

function go(hash) {
  if (addressed(hash) !== location.hash) history.pushState(null, "", addressed(hash));
  route();
}

function linkScrolling() {
  linked = !linked;
  $("#linked").setAttribute("aria-pressed", String(linked));
  if (linked) follow(leader);
}

$("#linked").addEventListener("click", linkScrolling);

const help = $("#help");
$("#help-open").addEventListener("click", () => help.showModal());
$("#help-close").addEventListener("click", () => help.close());
const keysOn = $("#keys");
keysOn.checked = remembered("keys") !== "off";
keysOn.addEventListener("change", () => remember("keys", keysOn.checked ? "on" : "off"));
addEventListener("storage", () => {
  keysOn.checked = remembered("keys") !== "off";
});

const KEYS = {
  n: () => step(1),
  j: () => step(1),
  p: () => step(-1),
  k: () => step(-1),
  l: linkScrolling,
  t: switchTheme,
  c: () => chosen >= 0 && copyLink(),
  1: () => go("#summary"),
  2: () => go("#text"),
  3: () => go("#redline"),
  4: () => go("#maps"),
  u: switchFolding,
  "?": () => help.showModal(),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || help.open || !keysOn.checked) return;
  if (event.target.closest?.("input, textarea, select")) return;
  if (Object.hasOwn(KEYS, event.key)) {
    KEYS[event.key]();
    event.preventDefault();
  }
});

showRows(0, WINDOW);
tellCount();
root.classList.add("ready");
route();
