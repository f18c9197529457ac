// The change chosen, with what was deleted and what was inserted in one text.

const wordsOf = (side, number) => (texts[side].ofPair.get(number) ?? []).map((passage) => $("p", passage));

// Page numbers are no part of what a passage says.
function plain(node) {
  const copy = node.cloneNode(true);
  for (const page of $$(".pg", copy)) page.remove();
  return copy.textContent;
}

// An insertion with the blanks that it has in B, where A has none.
function spaced(place, made, inserted) {
  const [first, last] = [inserted[0], inserted[inserted.length - 1]];
  const before = place.localName === "del" || /\s$/.test(place.previousSibling?.textContent ?? " ") ? "x" : first.previousSibling?.textContent ?? "x";
  const after = /^\s/.test(place.nextSibling?.textContent ?? " ") ? "x" : last.nextSibling?.textContent ?? "x";
  return [/\s$/.test(before) ? " " : "", made, /^\s/.test(after) ? " " : ""];
}

function merged(number) {
  const made = document.createDocumentFragment();
  const a = wordsOf("a", number);
  const b = wordsOf("b", number);
  if (!a.length || !b.length) {
    const kind = a.length ? "del" : "ins";
    made.append(element(kind, {}, [...a, ...b].map(plain).join("\n\n")));
    return made;
  }
  const inserted = (edit) => b.flatMap((words) => $$(`ins[data-e="${edit}"]`, words)).map((part) => part.textContent).join(" ");
  const edits = a.flatMap((words) => $$("[data-e]", words));
  a.forEach((words, place) => {
    if (place) made.append("\n\n");
    for (const node of words.childNodes) {
      const edit = node.dataset?.e;
      if (edit === undefined) {
        if (!node.classList?.contains("pg")) made.append(node.textContent);
        continue;
      }
      if (node.localName === "del") made.append(element("del", {}, node.textContent));
      const last = edits.filter((other) => other.dataset.e === edit).pop() === node;
      const words = last ? inserted(edit) : "";
      if (words) made.append(...spaced(node, element("ins", {}, words), b.flatMap((other) => $$(`ins[data-e="${edit}"]`, other))));
    }
  });
  return made;
}

async function copyLink() {
  const address = location.href;
  let done = false;
  try {
    await navigator.clipboard.writeText(address);
    done = true;
  } catch {
    const field = element("textarea", {}, address);
    document.body.append(field);
    field.select();
    done = document.execCommand("copy");
    field.remove();
  }
  const button = $("#copy");
  if (!button) return;
  button.textContent = done ? "Copied" : address;
  if (document.activeElement === document.body) button.focus();
}

// There is one at a time: beside the change chosen.
function copyButton() {
  $("#copy")?.remove();
  const button = element("button", { type: "button", id: "copy", title: "Copy a link to this change (c)" }, "Copy link");
  button.addEventListener("click", copyLink);
  return button;
}

function showDetail(number) {
  const box = $("#detail");
  const state = data.states[number];
  const row = rowOf.get(number);
  const score = data.scores[number];
  const head = element("h3");
  const name = row ? $(".line", row).cloneNode(true) : element("span", { class: "line" }, "same");
  head.append(name);
  const where = row ? $(".where", row).cloneNode(true) : "";
  const facts = element("p", { class: "facts" }, score < 0 ? "" : `Score ${(score / 100).toFixed(2)}. `);
  if (state === "m" && !wordsOf("a", number).some((words) => $("[data-e]", words)) && !wordsOf("b", number).some((words) => $("[data-e]", words))) {
    facts.append("Moved word for word.");
  }
  const buttons = element("p", { class: "group" });
  for (const side of ["a", "b"]) {
    if (!texts[side].ofPair.has(number)) continue;
    const go = element("button", { type: "button", class: "go" }, `Show in ${side.toUpperCase()}`);
    go.addEventListener("click", () => tab(side));
    buttons.append(go);
  }
  const close = element("button", { type: "button" }, "Close");
  close.addEventListener("click", () => {
    box.hidden = true;
    redraw();
    // The focus goes on from where the change is, not from the top of the page.
    const places = [row?.firstElementChild, texts.a.pane, texts.b.pane];
    places.find((place) => place?.checkVisibility() && !place.closest("[hidden]"))?.focus({ preventScroll: true });
  });
  buttons.append(copyButton(), close);
  const words = element("p", { class: "words", dir: "auto", lang: "" });
  words.append(state === "s" ? wordsOf("a", number).map(plain).join("\n\n") : merged(number));
  box.replaceChildren(head, words, where, facts, buttons);
  box.hidden = false;
  box.scrollTop = 0;
}
