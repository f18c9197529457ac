// The page works without this: drag and drop, and a word while the search runs.
"use strict";
const form = document.getElementById("search");
const drop = document.getElementById("drop");
const file = document.getElementById("file");
const busy = document.getElementById("busy");

function over(is) {
  drop.classList.toggle("over", is);
}

if (form) {
  document.getElementById("hint").hidden = false;
  for (const kind of ["dragenter", "dragover"]) {
    document.addEventListener(kind, (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      over(true);
    });
  }
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) over(false);
  });
  document.addEventListener("drop", (event) => {
    over(false);
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    file.files = event.dataTransfer.files;
    form.requestSubmit();
  });
  form.addEventListener("submit", () => {
    busy.textContent = `Searching with ${file.files[0]?.name ?? "the document"} …`;
    form.querySelector("button").disabled = true;
  });
  // Back from another page, or the report: the form works again.
  window.addEventListener("pageshow", () => {
    busy.textContent = "";
    form.querySelector("button").disabled = false;
  });
}
