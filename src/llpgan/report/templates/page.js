"use strict";
// All that is here is an addition: without it the tables are sorted and whole, and marks have their titles.

const ORDER = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function keyOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.key === undefined ? cell.textContent.trim() : cell.dataset.key;
}

function compared(one, other, isNumber) {
  if (one === "" || other === "") return (one === "") - (other === "");
  return isNumber ? Number(one) - Number(other) : ORDER.compare(one, other);
}

function sortBy(table, head) {
  const column = head.cellIndex;
  const isNumber = !head.classList.contains("text");
  const before = head.getAttribute("aria-sort");
  const falls = before === null ? isNumber : before === "ascending";
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [keyOf(row, column), row]);
  keyed.sort(([one], [other]) => {
    const order = compared(one, other, isNumber);
    return falls && one !== "" && other !== "" ? -order : order;
  });
  body.append(...keyed.map(([, row]) => row));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falls ? "descending" : "ascending");
}

function makeSortable(table) {
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(table, head));
    head.append(button);
  }
}

function makeSearchable(frame, table) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 8) return;
  const label = document.createElement("label");
  const input = document.createElement("input");
  const status = document.createElement("span");
  input.type = "search";
  status.setAttribute("role", "status");
  label.append("Search ", input);
  frame.querySelector(".tools").prepend(label, status);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word));
      found += !row.hidden;
    });
    status.textContent = words.length ? `${found} of ${rows.length} rows` : "";
  });
}

function showTextsOfMarks() {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  for (const title of document.querySelectorAll(".mark > title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove(); // else the browser would show it a second time
  }
  document.addEventListener("pointerover", (event) => {
    const mark = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
    tip.hidden = mark === null;
    if (mark === null) return;
    tip.textContent = mark.dataset.tip;
    const place = mark.getBoundingClientRect();
    const left = place.left + place.width / 2 - tip.offsetWidth / 2;
    const most = document.documentElement.clientWidth - tip.offsetWidth - 6;
    const above = place.top - tip.offsetHeight - 8;
    tip.style.left = `${Math.max(6, Math.min(left, most)) + scrollX}px`;
    tip.style.top = `${(above > 0 ? above : place.bottom + 8) + scrollY}px`;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
  });
}

for (const frame of document.querySelectorAll(".data-table")) {
  const table = frame.querySelector("table");
  makeSortable(table);
  makeSearchable(frame, table);
}
showTextsOfMarks();
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
