"""Style sheet of a report's page, for a screen, a phone and A4 paper."""

from __future__ import annotations

CSS = """
:root { --ink: #1f2a33; --quiet: #55626d; --line: #d5dce2; --shade: #f4f6f8; --mark: #16557f; \
--warn: #8a5300; --page: #fff; --warnbg: #fdf6ea; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.55;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", \
Arial, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1.2rem 1.4rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.2; font-weight: 650; margin: 0 0 .3rem; }
h2 { font-size: 1.3rem; line-height: 1.25; font-weight: 650; margin: 2.8rem 0 .8rem; padding-top: \
.9rem;
  border-top: 2px solid var(--line); }
p { max-width: 46rem; margin: .7rem 0; overflow-wrap: anywhere; }
a { color: var(--mark); }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .2rem 1rem; }
header h1 { margin: 0; } header .front-about { flex: 1 0 100%; }
.audience { display: inline-block; margin: 0; padding: .1rem .6rem; border-radius: .25rem; \
font-size: .9rem;
  background: var(--shade); color: var(--quiet); border: 1px solid var(--line); }
.audience.internal { background: var(--warnbg); color: var(--warn); border-color: var(--warn); }
nav ol { columns: 2; margin: 1.2rem 0 0; padding-left: 1.4rem; font-size: .92rem; }
nav li { break-inside: avoid; padding-right: 1rem; }
.warn { max-width: 46rem; margin: 1rem 0; padding: .6rem .9rem; border-left: 4px solid #d08a1d; \
background: var(--warnbg);
  overflow-wrap: anywhere; }
.warn b { color: var(--warn); }
.scroll { overflow-x: auto; margin: 1rem 0 1.4rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
table.fitting { width: auto; min-width: min(100%, 26rem); }
caption { caption-side: bottom; text-align: left; color: var(--quiet); font-size: .86rem; \
padding-top: .45rem; }
th, td { padding: .4rem .7rem; border-bottom: 1px solid var(--line); text-align: left; \
vertical-align: top;
  overflow-wrap: break-word; }
thead th { border-bottom: 2px solid var(--line); color: var(--quiet); font-weight: 600; \
vertical-align: bottom; }
tbody th { font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
td.number { white-space: nowrap; }
.facts { table-layout: fixed; } .facts thead th:nth-child(1) { width: 27%; } .facts thead \
th:nth-child(2) { width: 21%; }
.facts td:nth-child(2) { font-weight: 600; font-variant-numeric: tabular-nums; }
.facts td:nth-child(3) { color: var(--quiet); }
.gallery { display: flex; flex-wrap: wrap; gap: 1.1rem 1.4rem; margin: 1.2rem 0; }
figure { margin: 0; min-width: 0; }
.abreast-1 { flex: 0 1 34rem; } .abreast-2 { flex: 1 1 24rem; max-width: 30rem; } .abreast-3 { \
flex: 0 1 18.8rem; }
figure svg { display: block; width: 100%; height: auto; overflow: visible; }
figcaption { font-size: .92rem; font-weight: 600; margin-bottom: .2rem; }
details { font-size: .86rem; color: var(--quiet); } summary { cursor: pointer; }
details .scroll { margin: .3rem 0; } details table { font-size: .8rem; } details table.fitting { \
min-width: 0; }
details caption { display: none; }
pre { margin: 1rem 0; padding: .9rem 1rem; background: var(--shade); border: 1px solid \
var(--line); border-radius: .3rem;
  font: .8rem/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: \
pre-wrap;
  overflow-wrap: anywhere; }
.sign { display: none; }
footer { margin-top: 3rem; color: var(--quiet); font-size: .86rem; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ed; --quiet: #a9b4bd; --line: #3a454d; --shade: #1f272d; --mark: #8cc4ea; \
--warn: #f2c078; --page: #14191d; --warnbg: #2c2415; }
  figure svg { filter: invert(.9) hue-rotate(180deg); }
}
@media screen and (max-width: 60rem) {
  table.grid { font-size: .84rem; } table.grid th, table.grid td { padding: .35rem .4rem; }
}
@media screen and (max-width: 40rem) {
  main { padding: 1.2rem .9rem 3rem; } nav ol { columns: 1; } h1 { font-size: 1.5rem; }
  .abreast-1, .abreast-2, .abreast-3 { flex: 1 1 100%; max-width: none; }
  .facts thead { display: none; } .facts tr { display: block; padding: .5rem 0; border-bottom: \
1px solid var(--line); }
  .facts th, .facts td, .facts td:nth-child(2) { display: block; width: auto; border: 0; padding: \
.05rem 0; }
  table.grid { font-size: .8rem; } table.grid th, table.grid td { padding: .3rem .25rem; }
  table.stacked thead { position: absolute; width: 1px; height: 1px; overflow: hidden; \
clip-path: inset(50%); }
  table.stacked, table.stacked tbody, table.stacked caption { display: block; }
  table.stacked tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  table.grid.stacked th, table.grid.stacked td { display: block; border: 0; padding: .05rem .1rem; \
overflow-wrap: anywhere; }
  table.stacked td::before { content: attr(data-label) ": "; color: var(--quiet); }
  table.grid.stacked td.number { display: flex; justify-content: space-between; gap: .8rem; }
  table.grid.stacked td.number::before { content: attr(data-label); }
  table.grid.stacked td:empty, table.grid.stacked td.none { display: none; }
}

@page { size: A4; margin: 14mm 15mm 16mm; }
@media print {
  :root { --ink: #1f2a33; --quiet: #55626d; --line: #d5dce2; --shade: #f4f6f8; --mark: #16557f; \
--warn: #8a5300; --page: #fff; --warnbg: #fdf6ea; }
  figure svg { filter: none; }
  body { font-size: 9.6pt; line-height: 1.42; } main { max-width: none; padding: 0; }
  nav, details { display: none; } caption, figcaption { font-size: 8.6pt; }
  p:has(+ .scroll), p:has(+ .gallery) { break-after: avoid; }
  h1 { font-size: 17pt; } h2 { font-size: 13pt; margin: 8mm 0 2.5mm; padding-top: 2.5mm; \
break-after: avoid; }
  p, .warn { max-width: none; } p { margin: 2mm 0; break-inside: avoid; }
  .warn { break-inside: avoid; margin: 2.5mm 0; padding: 1.5mm 3mm; }
  .warn, .audience, pre { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .scroll { overflow: visible; margin: 3mm 0 4mm; }
  table { font-size: 8.6pt; } th, td { padding: 1mm 2mm; } .number { padding-left: 1mm; }
  thead { display: table-header-group; } tr, figure, .sign { break-inside: avoid; }
  table.short { break-inside: avoid; }
  .gallery { gap: 4mm 5mm; display: block; } .gallery figure { display: inline-block; \
vertical-align: top; }
  .abreast-1 { width: 90mm; } .abreast-2 { width: 85mm; max-width: none; } \
  .abreast-3 { width: 56mm; \
max-width: none; }
  pre { font-size: 7.4pt; line-height: 1.3; }
  .sign { display: block; margin-top: 9mm; }
  .sign div { display: flex; gap: 3mm; align-items: flex-end; height: 12mm; }
  .sign span { flex: 0 0 36mm; } .sign i { flex: 1; max-width: 95mm; border-bottom: 1px solid \
var(--ink); }
}
"""
