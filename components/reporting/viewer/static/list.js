// The list of episodes: only the rows on the screen exist, so ten thousand cost what twenty do.

const ROW = 46; // pixels
const AROUND = 8; // rows above and below what is seen

class EpisodeList {
  constructor(box, describe, chosen) {
    this.box = box;
    this.describe = describe;
    this.chosen = chosen;
    this.rows = [];
    this.at = -1;
    this.inner = el("div", { class: "inner", role: "presentation" });
    box.append(this.inner);
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    box.addEventListener("click", (event) => {
      const line = event.target.closest("[data-place]");
      if (line) this.choose(Number(line.dataset.place));
    });
    new ResizeObserver(() => this.draw()).observe(box);
  }

  show(rows, keep) {
    this.rows = rows;
    this.inner.style.height = rows.length * ROW + "px";
    this.at = -1;
    this.box.scrollTop = 0;
    this.draw();
    if (rows.length) this.choose(Math.max(0, rows.indexOf(keep)));
    else this.chosen(-1);
  }

  choose(place) {
    if (!this.rows.length) return;
    this.at = Math.min(Math.max(place, 0), this.rows.length - 1);
    const top = this.at * ROW;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    const bottom = this.box.scrollTop + this.box.clientHeight;
    if (top + ROW > bottom) this.box.scrollTop = top + ROW - this.box.clientHeight;
    this.draw();
    this.chosen(this.rows[this.at]);
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - AROUND);
    const last = Math.min(this.rows.length, first + Math.ceil(this.box.clientHeight / ROW) + 2 * AROUND);
    const lines = [];
    for (let place = first; place < last; place++) {
      const line = this.describe(this.rows[place]);
      line.id = "e" + place;
      line.dataset.place = place;
      line.style.top = place * ROW + "px";
      line.setAttribute("role", "option");
      line.setAttribute("aria-selected", place === this.at);
      line.setAttribute("aria-posinset", place + 1);
      line.setAttribute("aria-setsize", this.rows.length);
      lines.push(line);
    }
    this.inner.replaceChildren(...lines);
    if (this.at >= first && this.at < last) this.box.setAttribute("aria-activedescendant", "e" + this.at);
    else this.box.removeAttribute("aria-activedescendant");
  }
}
