// Heat maps on canvas: rows of A, columns of B.

const heatMaps = [];
const ramp = () => $$("[data-step]").map((step) => getComputedStyle(step).backgroundColor.match(/\d+/g).slice(0, 3).map(Number));

function colour(steps, score) {
  const place = Math.min(1, Math.max(0, score)) * (steps.length - 1);
  const low = Math.min(steps.length - 2, Math.floor(place));
  return steps[low].map((value, channel) => Math.round(value + (steps[low + 1][channel] - value) * (place - low)));
}

const headings = { a: $$("#pane-a .h > bdi"), b: $$("#pane-b .h > bdi") };
const headingOf = (side, section) => headings[side][section]?.textContent.replace(/\s+/g, " ") ?? "";

class HeatMap {
  constructor(name, source, sectionsOf, target) {
    Object.assign(this, source, { name, sectionsOf, target, row: 0, column: 0 });
    this.canvas = $(`#map-${name}`);
    this.scores = Uint8Array.from(atob(source.cells), (letter) => letter.charCodeAt(0));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => hideTip());
    this.canvas.addEventListener("click", (event) => {
      if (this.at(event)) this.go();
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("focus", () => this.move(this.row, this.column));
    this.canvas.addEventListener("blur", () => {
      hideTip();
      this.draw();
    });
  }

  score(row, column) {
    return (this.scores[row * this.columns + column] - 100) / 100;
  }

  // Headings of the rows, or columns, as [first, last + 1, name].
  groups(side, count, step) {
    const found = [];
    for (let place = 0; place < count; place++) {
      const section = this.sectionsOf(side, place * step);
      const last = found[found.length - 1];
      if (last && last[3] === section) last[1] = place + 1;
      else found.push([place, place + 1, headingOf(side, section), section]);
    }
    return found;
  }

  measure(room) {
    const narrow = room < 560;
    this.left = narrow ? 44 : Math.min(240, room * 0.25);
    this.top = narrow ? 28 : 120;
    const right = narrow ? 4 : 70;
    this.cellWidth = Math.min(30, Math.max(1, (room - this.left - right) / this.columns));
    this.cellHeight = Math.min(30, Math.max(1, Math.min(this.cellWidth * 1.5, 640 / this.rows)), Math.max(12, this.cellWidth));
    this.narrow = narrow;
    this.width = Math.ceil(this.left + this.cellWidth * this.columns + right);
    this.height = Math.ceil(this.top + this.cellHeight * this.rows + 4);
  }

  draw(room = this.canvas.parentElement.clientWidth) {
    if (!room) return;
    this.measure(room);
    const sharp = window.devicePixelRatio || 1;
    this.canvas.width = this.width * sharp;
    this.canvas.height = this.height * sharp;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(sharp, sharp);
    this.drawCells(pen);
    this.drawAxes(pen);
    if (document.activeElement === this.canvas) this.drawCursor(pen);
  }

  // Two frames, so that one of them stands out from any cell.
  drawCursor(pen) {
    const look = getComputedStyle(document.body);
    const [x, y] = [this.left + this.column * this.cellWidth, this.top + this.row * this.cellHeight];
    for (const [around, colourOf] of [[3, look.backgroundColor], [1, look.color]]) {
      pen.lineWidth = 2;
      pen.strokeStyle = colourOf;
      pen.strokeRect(x - around, y - around, this.cellWidth + 2 * around, this.cellHeight + 2 * around);
    }
  }

  // A pixel for each cell, made again only where the colours have changed: a map may have a million.
  pixels() {
    const steps = ramp();
    if (this.colours === steps.join()) return this.small;
    this.colours = steps.join();
    const table = Array.from({ length: 201 }, (_, byte) => colour(steps, (byte - 100) / 100));
    const image = new ImageData(this.columns, this.rows);
    this.scores.forEach((byte, place) => {
      const [red, green, blue] = table[byte];
      image.data.set([red, green, blue, 255], 4 * place);
    });
    this.small = element("canvas", { width: this.columns, height: this.rows });
    this.small.getContext("2d").putImageData(image, 0, 0);
    return this.small;
  }

  drawCells(pen) {
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.pixels(), this.left, this.top, this.cellWidth * this.columns, this.cellHeight * this.rows);
  }

  drawAxes(pen) {
    const look = getComputedStyle(document.body);
    pen.font = `12px ${look.fontFamily}`;
    pen.fillStyle = look.color;
    pen.strokeStyle = getComputedStyle($(".top")).borderBottomColor;
    pen.lineWidth = 1;
    pen.textBaseline = "middle";
    const [bottom, end] = [this.top + this.rows * this.cellHeight, this.left + this.columns * this.cellWidth];
    pen.font = `bold ${pen.font}`;
    pen.textAlign = "right";
    pen.fillText("A ↓ B →", this.left - 4, this.top - 10);
    pen.font = `12px ${look.fontFamily}`;
    const rowGroups = this.groups("a", this.rows, this.steps[0]);
    const columnGroups = this.groups("b", this.columns, this.steps[1]);
    // Lines between sections that stand too close would hide the cells.
    const rowLines = this.name === "chunks" && bottom - this.top > 8 * rowGroups.length;
    const columnLines = this.name === "chunks" && end - this.left > 8 * columnGroups.length;
    let free = -Infinity;
    for (const [first, last, name, section] of rowGroups) {
      const y = this.top + first * this.cellHeight;
      if (rowLines) this.line(pen, this.left, y, end, y);
      const middle = (y + this.top + last * this.cellHeight) / 2;
      if (middle - free < 13) continue;
      free = middle;
      pen.textAlign = "right";
      pen.fillText(fitted(pen, this.narrow ? String(section + 1) : name, this.left - 10), this.left - 6, middle);
    }
    free = -Infinity;
    for (const [first, last, name, section] of columnGroups) {
      const x = this.left + first * this.cellWidth;
      if (columnLines) this.line(pen, x, this.top, x, bottom);
      const middle = (x + this.left + last * this.cellWidth) / 2;
      if (middle - free < (this.narrow ? 16 : 13)) continue;
      free = middle;
      pen.save();
      pen.translate(middle, this.top - 6);
      if (!this.narrow) pen.rotate(-Math.PI / 3);
      pen.textAlign = this.narrow ? "center" : "left";
      pen.fillText(fitted(pen, this.narrow ? String(section + 1) : name, 118), 0, this.narrow ? -4 : 0);
      pen.restore();
    }
    pen.strokeRect(this.left, this.top, end - this.left, bottom - this.top);
  }

  line(pen, ...[x, y, toX, toY]) {
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(toX, toY);
    pen.stroke();
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - this.left) / this.cellWidth);
    const row = Math.floor((event.clientY - box.top - this.top) / this.cellHeight);
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return false;
    [this.row, this.column] = [row, column];
    return true;
  }

  say() {
    const [a, b] = [this.row * this.steps[0], this.column * this.steps[1]];
    const part = (side, place) => {
      const name = headingOf(side, this.sectionsOf(side, place));
      return this.name === "chunks" ? `${side.toUpperCase()} chunk ${place + 1}, ${name}` : `${side.toUpperCase()} ${name}`;
    };
    return `${this.score(this.row, this.column).toFixed(2)}: ${part("a", a)} – ${part("b", b)}`;
  }

  point(event) {
    if (!this.at(event)) return hideTip();
    return showTip(this.say(), event);
  }

  move(row, column) {
    this.row = Math.min(this.rows - 1, Math.max(0, row));
    this.column = Math.min(this.columns - 1, Math.max(0, column));
    $(`#at-${this.name}`).textContent = this.say();
    this.draw();
    const box = this.canvas.getBoundingClientRect();
    const clientX = box.left + this.left + (this.column + 1) * this.cellWidth;
    showTip(this.say(), { clientX, clientY: box.top + this.top + (this.row + 0.5) * this.cellHeight });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -1e6], End: [0, 1e6] };
    if (event.key === "Enter" || event.key === " ") this.go();
    else if (moves[event.key]) this.move(this.row + moves[event.key][0], this.column + moves[event.key][1]);
    else return;
    event.preventDefault();
  }

  go() {
    hideTip();
    this.open(this.row * this.steps[0], this.column * this.steps[1]);
  }

  open(row, column) {
    const targets = { a: this.target("a", row), b: this.target("b", column) };
    history.pushState(null, "", addressed("#text"));
    goTo(targets);
  }
}

// Shows places of both texts side by side that need not be partners.
function goTo(targets) {
  show("text");
  if ($("#text").dataset.tab === "list") tab("a");
  for (const on of $$(".p.on, .h.on")) on.classList.remove("on");
  for (const target of Object.values(targets)) {
    target?.classList.add("on");
    unfold(target);
  }
  const side = targets.a ? "a" : "b";
  bring(targets);
  texts[side].pane.focus({ preventScroll: true });
}

function fitted(pen, text, room) {
  let words = text;
  while (words.length > 1 && pen.measureText(words).width > room) words = `${words.slice(0, words.length > 40 ? 36 : -2)}…`;
  return words;
}

const tip = element("div", { class: "tip", hidden: "", "aria-hidden": "true" });
document.body.append(tip);

function showTip(text, event) {
  tip.textContent = text;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${event.clientY + 20 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 20}px`;
}

function hideTip() {
  tip.hidden = true;
}

if ($("#map-sections")) {
  const heading = (side, section) => $(`#${side}s${section}`);
  heatMaps.push(new HeatMap("sections", data.sections, (_, place) => place, heading));
}
if ($("#map-chunks")) {
  const places = { a: data.places[0], b: data.places[1] };
  const passage = (side, chunk) => texts[side].passages[places[side].passage[chunk]];
  heatMaps.push(new HeatMap("chunks", data.chunks, (side, chunk) => places[side].section[chunk], passage));
}
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-map]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  heatMaps.find((map) => map.name === link.dataset.map).open(Number(link.dataset.a), Number(link.dataset.b));
});
const drawMaps = eachFrame(() => {
  if (root.dataset.view === "maps") for (const map of heatMaps) map.draw();
});
document.addEventListener("shown-maps", drawMaps);
document.addEventListener("colours", drawMaps);
window.addEventListener("resize", drawMaps);
