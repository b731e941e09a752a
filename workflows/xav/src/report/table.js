// Long tables: real HTML tables in which only the rows near the visible ones are there.

const ROW = 30; // CSS pixels; the style gives every row this height.
const WHOLE = 400; // Up to so many rows all are there.
const PRINTED = 100; // Rows of a longer table that are printed.
const TEXTS = new Intl.Collator("en", { numeric: true }); // `localeCompare` makes one for each pair: a minute for 100,000 names.

/**
 * A table of `n` rows. A column has `title`, `value(row)` to sort by (null goes last), `cell(row)` with
 * what is shown, `isText` where it is no number.
 */
class Table {
  constructor(host, caption, columns, n) {
    this.columns = columns;
    this.rows = Array.from({ length: n }, (_, row) => row);
    this.isMeant = () => true;
    this.sortedBy = null;
    this.isDown = false;
    this.picked = null;
    this.body = element("tbody");
    this.heads = columns.map((column, index) => {
      const button = element("button", { type: "button" }, column.title);
      button.addEventListener("click", () => this.sort(index));
      return element("th", { scope: "col", className: column.isText ? "text" : "" }, button);
    });
    this.table = element("table", { "aria-label": caption },
      element("thead", {}, element("tr", {}, ...this.heads)), this.body);
    this.frame = element("div", { className: "rows", tabIndex: 0, role: "group", "aria-label": `Rows of ${caption}` }, this.table);
    host.replaceChildren(this.frame);
    this.frame.addEventListener("scroll", () => this.draw(), { passive: true });
    this.show();
  }

  /** Shows the rows for which this holds. */
  filter(isMeant) {
    this.isMeant = isMeant;
    this.frame.scrollTop = 0;
    this.show();
  }

  sort(index) {
    this.isDown = this.sortedBy === index && !this.isDown;
    this.sortedBy = index;
    this.heads.forEach((head, at) => {
      if (at === index) head.setAttribute("aria-sort", this.isDown ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.show();
  }

  show() {
    this.shown = this.rows.filter(this.isMeant);
    if (this.sortedBy !== null) {
      const { value } = this.columns[this.sortedBy];
      const keys = new Map(this.shown.map((row) => [row, value(row)]));
      const sign = this.isDown ? -1 : 1;
      this.shown.sort((one, other) => {
        const [a, b] = [keys.get(one), keys.get(other)];
        if (a === null || b === null) return (a === null) - (b === null);
        const order = typeof a === "string" ? TEXTS.compare(a, b) : a - b;
        return sign * order || one - other;
      });
    }
    this.from = -1;
    this.draw();
  }

  draw(isPrinted = false) {
    const n = this.shown.length;
    const isWhole = n <= WHOLE;
    const height = this.frame.clientHeight || 520;
    const ahead = 20;
    const first = isWhole || isPrinted ? 0 : Math.max(0, Math.floor(this.frame.scrollTop / ROW) - ahead);
    const end = isWhole ? n : isPrinted ? PRINTED :
      Math.min(n, first + Math.ceil(height / ROW) + 2 * ahead);
    // Scrolling within what is there needs nothing.
    if (!isPrinted && this.from === first && this.to === end) return;
    [this.from, this.to] = [first, end];
    this.table.setAttribute("aria-rowcount", n + 1);
    const rows = this.shown.slice(first, end).map((row, place) => this.row(row, first + place));
    const gap = (pixels) => {
      const cell = element("td", { className: "gap", colSpan: this.columns.length });
      cell.style.height = `${pixels}px`;
      return element("tr", { "aria-hidden": "true" }, cell);
    };
    if (first > 0) rows.unshift(gap(first * ROW));
    if (end < n && !isPrinted) rows.push(gap((n - end) * ROW));
    if (end < n && isPrinted) rows.push(this.note(`and ${(n - end).toLocaleString("en")} more`));
    if (n === 0) rows.push(this.note("nothing fits"));
    this.body.replaceChildren(...rows);
  }

  note(text) {
    return element("tr", {}, element("td", { className: "text", colSpan: this.columns.length }, text));
  }

  row(row, place) {
    const cells = this.columns.map((column, index) => {
      const content = column.cell(row);
      const name = column.isText ? "text" : "";
      return index === 0
        ? element("th", { scope: "row", className: name }, content)
        : element("td", { className: name }, content);
    });
    const made = element("tr", { "aria-rowindex": place + 2 }, ...cells);
    if (row === this.picked) made.className = "picked";
    return made;
  }

  /** Marks a row, and shows it where that is wanted. */
  pick(row, isSought) {
    this.picked = row;
    const place = this.shown.indexOf(row);
    if (isSought && place >= 0) this.frame.scrollTop = Math.max(0, (place - 3) * ROW);
    this.from = -1;
    this.draw();
  }
}
