const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const root = document.documentElement;
const data = JSON.parse($("#data").textContent);
const STATES = { s: "same", e: "edited", m: "moved", a: "only in A", b: "only in B" };

function remember(key, value) {
  try {
    localStorage.setItem(`colde-${key}`, value);
  } catch {
    // Private windows may refuse; the choice then lasts as long as the page.
  }
}

function remembered(key) {
  try {
    return localStorage.getItem(`colde-${key}`);
  } catch {
    return null;
  }
}

// Runs a function at most once a frame.
function eachFrame(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function drawn(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// What is hidden this way is still found by a search of the browser, where it can do that.
const FINDABLE = "onbeforematch" in document.body ? "until-found" : "";

// Hides an element; null shows it.
function conceal(element, how) {
  if (how === null) element.removeAttribute("hidden");
  else element.setAttribute("hidden", how);
}

const inTexts = () => ["text", "redline"].includes(root.dataset.view);

function show(view) {
  root.dataset.view = view;
  if (inTexts()) reading = view;
  for (const section of $$("main > section")) {
    conceal(section, section.id === (inTexts() ? "text" : view) ? null : FINDABLE);
  }
  arrangePanes();
  for (const link of $$(".top nav a")) {
    if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!inTexts()) window.scrollTo(0, 0);
  document.dispatchEvent(new Event(inTexts() ? "shown-text" : `shown-${view}`));
}

const darkSystem = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : darkSystem.matches);

function themeChanged() {
  $("#theme").setAttribute("aria-pressed", String(isDark()));
  document.dispatchEvent(new Event("colours"));
}

function switchTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  remember("theme", root.dataset.theme);
  themeChanged();
}

$("#theme").addEventListener("click", switchTheme);
darkSystem.addEventListener("change", themeChanged);
// Another report may choose, or the browser may store the choice only after a reload has read it.
addEventListener("storage", () => {
  const theme = remembered("theme");
  if (!theme || theme === root.dataset.theme) return;
  root.dataset.theme = theme;
  themeChanged();
});
themeChanged();
