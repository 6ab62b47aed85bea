"use strict";
const search = document.getElementById("search");
const field = document.getElementById("filter");
const count = document.getElementById("count");
const rows = [...document.querySelectorAll("[data-names]")];
// "worker-1..40" has worker-17.
const isIn = (name, range) => {
  const [, text, first, last] = /^(.*?)(\d+)\.\.(\d+)$/.exec(range) ?? [];
  if (text === undefined || !name.startsWith(text) || !/^(0|[1-9]\d*)$/.test(name.slice(text.length))) return range.includes(name);
  const number = Number(name.slice(text.length));
  return Number(first) <= number && number <= Number(last);
};
const shows = (row, wanted) =>
  row.textContent.toLowerCase().includes(wanted) || row.dataset.names.split(", ").some((range) => isIn(wanted, range));
const filter = () => {
  const wanted = field.value.trim().toLowerCase();
  for (const row of rows) row.hidden = wanted !== "" && !shows(row, wanted);
  for (const part of document.querySelectorAll("details"))
    if (wanted !== "" && (part.querySelector("[data-names]:not([hidden])") || part.textContent.toLowerCase().includes(wanted))) part.open = true;
  count.textContent = wanted === "" ? "" : `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
};
// The address keeps the filter when the page is loaded again.
const kept = new URLSearchParams(location.hash.slice(1)).get("filter");
field.addEventListener("input", () => {
  history.replaceState(null, "", `#${new URLSearchParams({ filter: field.value })}`);
  filter();
});
search.addEventListener("submit", (event) => event.preventDefault());
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
search.hidden = false;
if (kept) {
  field.value = kept;
  filter();
}
