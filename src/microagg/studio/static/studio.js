"use strict";
// The pages work without this script, but for uploads; it sends files, refreshes fragments and the bar.
const byId = (id) => document.getElementById(id);

async function send(file) {
  const message = byId("message"), busy = byId("busy"), limit = Number(byId("upload").dataset.limit);
  message.hidden = true;
  let sentence = "The upload broke off; choose the file again.";
  if (file.size > limit) {
    sentence = "The file is larger than is accepted here; name it on the command line instead.";
  } else {
    busy.hidden = false;
    try {
      const answer = await fetch("/upload", {
        method: "POST", body: file, headers: { "X-File-Name": encodeURIComponent(file.name) } });
      const told = await answer.json();
      if (told.next) { location.assign(told.next); return; }
      sentence = told.error;
    } catch { /* the sentence says so */ }
  }
  busy.hidden = true;
  message.textContent = sentence;
  message.hidden = false;
}

const upload = byId("upload"), drop = byId("drop");
if (upload) {
  upload.addEventListener("change", () => upload.files.length && send(upload.files[0]));
  for (const kind of ["dragover", "drop", "dragleave"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
    });
  }
}

if (byId("opening")) {
  const look = setInterval(async () => {
    const state = await (await fetch("/file/state")).json();
    if (!state.opening) { clearInterval(look); location.reload(); }
  }, 300);
}

for (const form of document.querySelectorAll("form[data-live]")) {
  let number = 0, later = 0;
  const show = async (address, mine) => {
    const answer = await fetch(address, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const text = await answer.text();
    if (mine === number && answer.ok) byId(form.dataset.into).innerHTML = text;
    return mine === number;
  };
  const refresh = async () => {
    const mine = ++number;
    try {
      if (await show(form.dataset.live, mine) && form.dataset.more) await show(form.dataset.more, mine);
    } catch { /* the page stays as it is */ }
  };
  form.addEventListener("change", (event) => {
    if (event.target.dataset.form !== undefined) { form.querySelector("[name=show]").click(); return; }
    clearTimeout(later);
    later = setTimeout(refresh, 50);
  });
  if (form.dataset.more) refresh();
}

if (byId("bar")) {
  const look = setInterval(async () => {
    const run = await (await fetch("/run/state")).json();
    if (run.state === "done") { clearInterval(look); location.assign("/look"); return; }
    if (run.state !== "running") { clearInterval(look); location.reload(); return; }
    byId("bar").value = run.percent;
    byId("told").textContent = run.stopping ? "Stopping at the next checkpoint." : run.text;
    byId("left").textContent = run.left === null ? "" : `About ${run.left} seconds left.`;
    byId("compiling").hidden = !run.compiling;
  }, 300);
}

const curtain = byId("curtain");
if (curtain) {
  const draw = () => {
    const drawn = document.body.classList.toggle("curtain");
    curtain.setAttribute("aria-pressed", String(drawn));
  };
  curtain.addEventListener("click", draw);
  document.addEventListener("keydown", (event) => {
    if (event.key === "c" && !event.ctrlKey && !event.metaKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) draw();
  });
}
