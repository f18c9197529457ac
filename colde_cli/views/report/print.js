// On paper: light colours, the redline, and maps that may not have been on the screen yet.
let screenTheme = null;

function onPaper(printing) {
  if (printing === (screenTheme !== null)) return;
  if (printing) {
    screenTheme = root.dataset.theme ?? "";
    root.dataset.theme = "light";
    makeRedline();
    for (const map of heatMaps) map.draw(660);
    return;
  }
  if (screenTheme) root.dataset.theme = screenTheme;
  else delete root.dataset.theme;
  screenTheme = null;
  drawMaps();
}

window.addEventListener("beforeprint", () => onPaper(true));
window.addEventListener("afterprint", () => onPaper(false));
matchMedia("print").addEventListener("change", (event) => onPaper(event.matches));
