"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const patches = [...document.querySelectorAll("details.patch")];
  const fields = ["text", "area", "risk", "state", "kind"];

  const fits = (patch, want) =>
    want.text.toLowerCase().split(/\s+/).every((word) => patch.dataset.text.includes(word)) &&
    (!want.area || patch.dataset.areas.split("|").includes(want.area)) &&
    (!want.risk || patch.dataset.risk === want.risk) &&
    (!want.state || patch.dataset.state === want.state) &&
    (!want.kind || patch.dataset.kinds.split("|").includes(want.kind));

  const wanted = () => Object.fromEntries(fields.map((name) => [name, byId(name).value.trim()]));

  const filter = () => {
    const want = wanted();
    for (const patch of patches) patch.hidden = !fits(patch, want);
    const left = patches.filter((patch) => !patch.hidden).length;
    byId("count").textContent = left === patches.length ? `${left} patches` : `${left} of ${patches.length}`;
    byId("none").hidden = left > 0 || patches.length === 0;
  };

  // a filter is a link too: #?risk=high&area=cache
  const remember = () => {
    const set = Object.entries(wanted()).filter(([, value]) => value);
    const hash = set.length ? `#?${new URLSearchParams(set)}` : "#";
    history.replaceState(null, "", hash);
    filter();
  };

  const follow = () => {
    if (location.hash.startsWith("#?")) {
      const want = new URLSearchParams(location.hash.slice(2));
      for (const name of fields) byId(name).value = want.get(name) ?? "";
      filter();
      document.querySelector("h2.list").scrollIntoView();
      return;
    }
    let hash = location.hash.slice(1);
    try {
      hash = decodeURIComponent(hash);
    } catch {
      return; // not a link of this page
    }
    const target = hash && byId(hash);
    const patch = target && target.closest("details");
    if (!patch) return;
    if (patch.hidden) {
      byId("filter").reset();
      filter();
    }
    patch.open = true;
    target.scrollIntoView();
  };

  byId("filter").addEventListener("input", remember);
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("open").addEventListener("click", () => patches.forEach((patch) => { patch.open = !patch.hidden || patch.open; }));
  byId("close").addEventListener("click", () => patches.forEach((patch) => { patch.open = false; }));
  addEventListener("hashchange", follow);
  filter();
  follow();
})();
