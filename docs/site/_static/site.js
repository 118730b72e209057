// What the theme and Sphinx leave out for keyboards and screen readers.
window.addEventListener("load", () => {
  for (const box of document.querySelectorAll("div.math, table.table, pre")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0; // a keyboard can scroll what is wider than the page
  }
  for (const toggle of document.querySelectorAll("nav summary")) toggle.setAttribute("aria-label", "Show subpages");
  for (const part of document.querySelectorAll(".citation-list, .citation, .citation [role]")) part.removeAttribute("role");
  for (const list of document.querySelectorAll("dl")) {
    if (!list.querySelector(":scope > dd")) list.setAttribute("role", "presentation"); // names without a description
  }
});
