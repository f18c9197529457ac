// The redline: one text in the order of B, with what only A has. It is made of the two texts when it is first needed.

// What stands in a text in reading order: headings and pairs, each with its first and last page.
function walked(side) {
  const found = new Map();
  let page = "";
  let name = "";
  for (const node of $$(".blk > :not(.fold)", texts[side].pane)) {
    if (node.matches(".pb")) {
      page = node.textContent;
      continue;
    }
    const first = page;
    page = $$(".pg", node).pop()?.dataset.n ?? page;
    const heading = node.matches(".h");
    if (heading) name = $("bdi", node).textContent;
    const key = heading ? node.id : `p${node.dataset.p}`;
    if (found.has(key)) found.get(key).last = page;
    else found.set(key, { key, node, side, heading, first, last: page, name, number: Number(node.dataset.p ?? -1) });
  }
  return found;
}

const stateOf = (item) => data.states[item.number];

// What A has alone, and where passages moved away, by the place in B that they follow.
function onlyInA(a, b) {
  const partners = new Map(data.partners.map((own, other) => [`as${own}`, `bs${other}`]));
  const places = new Map([...b.keys()].map((key, place) => [key, place]));
  const items = [...a.values()];
  const placeOf = (item) => places.get(item.heading ? partners.get(item.key) : "se".includes(stateOf(item)) ? item.key : "");
  // A heading that moved with its section must not carry along what follows it.
  const bounds = new Array(items.length + 1).fill(Infinity);
  for (let at = items.length - 1; at >= 0; at--) bounds[at] = items[at].heading ? bounds[at + 1] : placeOf(items[at]) ?? bounds[at + 1];
  const found = new Map();
  let last = -1;
  items.forEach((item, at) => {
    const place = placeOf(item);
    if (place === undefined) found.set(last, [...(found.get(last) ?? []), item]);
    else if (!item.heading || (place > last && place < bounds[at])) last = place;
  });
  return found;
}

const pagesOf = (item) => (item.first === item.last ? item.first : `${item.first}–${item.last}`);

// "A, p. 3, 2 Methods"
function whereIs(item) {
  const pages = item.last ? `${item.first === item.last ? "p." : "pp."} ${pagesOf(item)}` : "";
  return [item.side.toUpperCase(), pages, item.name.replace(/\s+/g, " ").slice(0, 60)].filter(Boolean).join(", ");
}

class RedlineMaker {
  constructor() {
    this.items = { a: walked("a"), b: walked("b") };
    this.pages = { a: "", b: "" };
    this.rows = [];
  }

  make() {
    const { a, b } = this.items;
    const alone = onlyInA(a, b);
    this.addAll(alone.get(-1));
    [...b.values()].forEach((item, place) => {
      if (item.heading) this.heading(item, a.get(`as${data.partners[Number(item.key.slice(2))]}`));
      else this.passage(item, a.get(item.key));
      this.addAll(alone.get(place));
    });
    return this.rows;
  }

  addAll(items = []) {
    let moved = [];
    for (const item of [...items, null]) {
      if (item && !item.heading && stateOf(item) === "m") {
        moved.push(item);
        continue;
      }
      if (moved.length) this.movedAway(moved);
      moved = [];
      if (item?.heading) this.heading(null, item);
      else if (item) this.passage(null, item);
    }
  }

  // The page numbers of both texts; those that were already given show only after passages that are folded.
  leaves(...items) {
    const box = element("span", { class: "leaves" });
    for (const item of items) {
      if (!item?.last) continue;
      const side = item.side.toUpperCase();
      const pages = pagesOf(item);
      const leaf = element("span", { role: "doc-pagebreak", "aria-label": `page ${pages} of ${side}`, "data-n": `${side} ${pages}` });
      leaf.dataset.last = side + item.last;
      if (this.pages[item.side] === item.last && item.first === item.last) leaf.className = "again";
      this.pages[item.side] = item.last;
      box.append(leaf);
    }
    return box;
  }

  heading(b, a) {
    const { node } = b ?? a;
    const text = (item) => $("bdi", item.node).textContent;
    const words = element("bdi");
    if (a && b && text(a) === text(b)) words.append(text(b));
    else words.append(...(a ? [element("del", {}, text(a))] : []), a && b ? " " : "", ...(b ? [element("ins", {}, text(b))] : []));
    const made = element(node.localName, { class: "h", dir: "auto" }, words);
    const note = $(".became", node);
    if (note) made.append(" ", note.cloneNode(true));
    // A section that moved is on a page of A that is out of turn here.
    const turn = a && (!b || !note?.textContent.includes("moved")) ? a : null;
    const row = element("div", { class: "row" }, this.leaves(turn, b), made);
    row.dataset.at = [a?.key, b?.key].filter(Boolean).join(" ");
    this.rows.push(row);
  }

  passage(b, a) {
    const { number } = b ?? a;
    const state = data.states[number];
    const words = element("p", { dir: "auto" });
    words.append(state === "s" ? wordsOf("b", number).map(plain).join("\n\n") : merged(number));
    const row = element("div", { class: `row p ${state}`, id: `r${number}`, "data-p": number });
    row.append(this.leaves(state === "m" ? null : a, b), words);
    if (state !== "s") row.append(this.note(number, state === "m" ? a : null));
    // On paper only short passages stay on one page.
    if (words.textContent.length > 900) row.classList.add("long");
    this.rows.push(row);
  }

  note(number, from) {
    const note = element("div", { class: "note", lang: "en" }, $(".line", rowOf.get(number)).cloneNode(true));
    if (from) note.append(element("span", { class: "where" }, `from ${whereIs(from)}`));
    return note;
  }

  // Where passages were in A. Their words are shown by the style, so that a search finds them in one place only.
  movedAway(items) {
    const { number } = items[0];
    const many = items.length > 1 ? `${items.length} passages moved` : "Moved";
    const link = element("a", { href: `#p${number}` }, `${many} to ${whereIs(this.items.b.get(items[0].key))}`);
    const first = wordsOf("a", number).map(plain).join(" ").replace(/\s+/g, " ");
    const start = element("span", { class: "start", "data-words": first.length > 70 ? `${first.slice(0, 70)}…` : first });
    const line = element("div", { class: "away", lang: "en" }, link, " ", start);
    this.rows.push(element("div", { class: "row m stub" }, this.leaves(), line));
  }
}

const PER_BLOCK = 12;
const redlinePane = $("#pane-m");

function makeRedline() {
  if (columns.m) return;
  const made = new RedlineMaker().make();
  const body = $(".body", redlinePane);
  for (let at = 0; at < made.length; at += PER_BLOCK) {
    body.append(element("div", { class: "blk" }, ...made.slice(at, at + PER_BLOCK)));
  }
  if (!made.length) body.append(element("p", { class: "facts" }, "No text."));
  columns.m = columnOf("m", redlinePane);
  if (folded) foldColumn(columns.m);
  for (const row of columns.m.ofPair.get(chosen) ?? []) row.classList.add("on");
}

// The heading of a section of A or B, such as "as3".
const redlineHeading = (section) => $(`[data-at~="${section}"]`, redlinePane);
