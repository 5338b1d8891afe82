"use strict";
// The pages work without this script, but for uploads and previews; it sends files, refreshes
// fragments and the bar, and draws the curtain before anything is painted.
const root = document.documentElement, byId = (id) => document.getElementById(id);
root.classList.add("scripted");
root.classList.toggle("curtain", sessionStorage.getItem("curtain") === "drawn");

async function send(file) {
  const message = byId("message"), busy = byId("busy"), limit = Number(byId("upload").dataset.limit);
  message.hidden = true;
  let sentence = "The upload was interrupted; choose the file again.";
  if (file.size > limit) {
    sentence = "The file is too large to upload; start the studio with its name: microagg studio FILE.";
  } else {
    busy.hidden = false;
    try {
      const response = await fetch("/upload", {
        method: "POST", body: file, headers: { "X-File-Name": encodeURIComponent(file.name) } });
      const answer = await response.json();
      if (answer.next) { location.assign(answer.next); return; }
      sentence = answer.error;
    } catch { /* the sentence says so */ }
  }
  busy.hidden = true;
  message.textContent = sentence;
  message.hidden = false;
}

function takeFiles() {
  const upload = byId("upload"), drop = byId("drop");
  if (!upload) return;
  upload.addEventListener("change", () => upload.files.length && send(upload.files[0]));
  for (const kind of ["dragover", "drop", "dragleave"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
    });
  }
}

function poll(address, take) {
  const timer = setInterval(async () => {
    try {
      const state = await (await fetch(address)).json();
      if (take(state)) clearInterval(timer);
    } catch {
      clearInterval(timer);
      const status = byId("told") || byId("opening");
      status.textContent = "The studio does not answer; check the terminal where it was started.";
    }
  }, 300);
}

function showFacts(target) {
  for (const fact of target.querySelectorAll("[data-fact]")) {
    const beside = document.querySelector(`[data-fact-of="${fact.dataset.fact}"]`);
    if (beside) { beside.textContent = fact.textContent; beside.hidden = false; }
  }
}

function refreshFragments(form) {
  let number = 0, later = 0;
  const target = byId(form.dataset.into);
  const show = async (address, mine) => {
    const answer = await fetch(address, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const text = await answer.text();
    if (mine !== number || !answer.ok) return undefined;
    const open = [...target.querySelectorAll("details")].map((details) => details.open);
    target.innerHTML = text;
    target.querySelectorAll("details").forEach((details, i) => { details.open = open[i] || false; });
    showFacts(target);
    return target.querySelector("[data-next]")?.dataset.next;
  };
  const refresh = async () => {
    const mine = ++number;
    target.setAttribute("aria-busy", "true");
    try {
      let address = form.dataset.live;
      while (address) address = await show(address, mine);
    } catch { /* the page stays as it is */ }
    if (mine === number) target.removeAttribute("aria-busy");
  };
  form.addEventListener("change", (event) => {
    if (event.target.dataset.form !== undefined) { form.querySelector("[name=show]").click(); return; }
    clearTimeout(later);
    later = setTimeout(refresh, 50);
  });
  if (form.dataset.atOnce !== undefined) refresh();
}

function drawCurtain() {
  const drawn = root.classList.toggle("curtain");
  sessionStorage.setItem("curtain", drawn ? "drawn" : "");
  byId("curtain").setAttribute("aria-pressed", String(drawn));
}

document.addEventListener("DOMContentLoaded", () => {
  takeFiles();
  if (byId("opening")) poll("/file/state", (state) => {
    if (!state.opening) location.reload();
    return !state.opening;
  });
  if (byId("bar")) poll("/run/state", (run) => {
    if (run.state === "done") { location.assign("/look"); return true; }
    if (run.state !== "running") { location.reload(); return true; }
    byId("bar").value = run.percent;
    byId("told").textContent = run.text;
    byId("left").textContent = run.remaining;
    byId("compiling").hidden = !run.compiling;
    byId("stop").disabled = run.starting || run.stopping;
    return false;
  });
  document.querySelectorAll("form[data-live]").forEach(refreshFragments);
  byId("curtain").setAttribute("aria-pressed", String(root.classList.contains("curtain")));
  byId("curtain").addEventListener("click", drawCurtain);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "c" && !event.ctrlKey && !event.metaKey && !event.altKey && !typing) drawCurtain();
  });
});
