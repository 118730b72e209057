// What the theme and Sphinx leave out for keyboards and screen readers.
window.addEventListener("load", () => {
  for (const box of document.querySelectorAll("div.math, table.table, pre")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0; // a keyboard can scroll what is wider than the page
  }
  for (const toggle of document.querySelectorAll("nav summary")) toggle.setAttribute("aria-label", "Show subpages");
  for (const part of document.querySelectorAll(".citation-list, .citation, .citation [role]")) part.removeAttribute("role");
  for (const list of document.querySelectorAll(".sig dl")) { // the parameters of a signature are no definitions
    const lines = document.createElement("div");
    for (const parameter of [...list.children]) {
      const line = document.createElement("div");
      line.className = "sig-line";
      line.append(...parameter.childNodes);
      lines.append(line);
    }
    list.replaceWith(lines);
  }
});
