// Addresses, keys, and the first view.

function laidOut() {
  estimateHeights();
  drawStrips();
  redraw();
}

// What the part after # means: a view, a pair (#p12, from B #q12), a section (#as3, #bs3).
function route() {
  const found = /^#(?:(summary|maps|text)|[pq](\d+)|([ab])s(\d+))$/.exec(location.hash);
  if (!found) return show("summary");
  const [, view, pair, side, section] = found;
  if (view) return show(view);
  if (pair !== undefined) return choose(Number(pair), { keepAddress: true });
  const heading = $(`#${side}s${section}`);
  return heading ? goTo({ [side]: heading }) : show("summary");
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#"]');
  if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(link.hash);
  if (link.classList.contains("skip")) texts.a.pane.focus();
  if (link.dataset.only) only((chip) => chip.dataset.state === link.dataset.only);
  if (link.dataset.kind) only((chip) => chip.dataset.kind === link.dataset.kind);
  if ("flagged" in link.dataset) only((chip) => Boolean(chip.dataset.kind));
});
window.addEventListener("popstate", route);
window.addEventListener("hashchange", route);
document.addEventListener("shown-text", laidOut);
window.addEventListener("resize", eachFrame(() => root.dataset.view === "text" && laidOut()));

// A click into a passage that changed, not one that selects words in it, chooses it.
for (const text of Object.values(texts)) {
  text.pane.addEventListener("click", (event) => {
    const passage = event.target.closest(".p:not(.s)");
    if (passage && !event.target.closest("a") && String(getSelection()) === "") choose(Number(passage.dataset.p));
  });
}

function go(hash) {
  if (hash !== location.hash) history.pushState(null, "", hash);
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

const KEYS = {
  n: () => step(1),
  j: () => step(1),
  p: () => step(-1),
  k: () => step(-1),
  l: linkScrolling,
  t: switchTheme,
  c: () => chosen >= 0 && copyLink(),
  1: () => go("#summary"),
  2: () => go("#maps"),
  3: () => go("#text"),
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
route();
