"""Style of the first page of a report: one screen of 1280 x 900, one page of A4, a telephone."""

from __future__ import annotations

import re

from microagg.release.report.document import Document

FRONT_CSS = """
.front { --good: #1d6b3a; --bad: #a11b1b; --amber: #8a5300; --goodbg: #e8f4ec; --badbg: #fbe9e9; \
--amberbg: #fdf3e2; }
.front h2 { font-size: 1rem; margin: 0 0 .35rem; padding: 0; border: 0; }
.front p { margin: .3rem 0; max-width: none; }
.front dl, .front dd, .front-about, .front-about dd { margin: 0; }
.front-about { display: flex; flex-wrap: wrap; gap: .1rem 1.4rem; font-size: .86rem; color: \
var(--quiet); margin: .4rem 0 0; }
.front-about div { display: flex; gap: .4rem; min-width: 0; }
.front-about dt { font-weight: 600; } .front-about dd { overflow-wrap: anywhere; }
.front-verdict { display: flex; align-items: center; gap: .7rem; padding: .55rem .9rem; \
border-radius: .4rem; font-size: 1.25rem; }
.front p.front-verdict { margin: .55rem 0; }
.front-verdict span:last-child { font-size: .92rem; }
.front-verdict.met { background: var(--goodbg); color: var(--good); }
.front-verdict.decide { background: var(--amberbg); color: var(--amber); }
.front-verdict.stop { background: var(--badbg); color: var(--bad); }
.front-icon { flex: none; width: 1.7rem; height: 1.7rem; line-height: 1.7rem; text-align: center; \
border-radius: 50%; color: #fff; background: var(--good); font-weight: 700; font-size: 1.05rem; }
.decide .front-icon { background: var(--amber); } .stop .front-icon { background: var(--bad); }
.front-figures { display: grid; grid-template-columns: repeat(3, 1fr); gap: .8rem; }
.front-figures div { padding: .5rem .8rem; background: var(--shade); \
border: 1px solid var(--line); \
border-radius: .4rem; }
.front-figures dt { font-size: .86rem; font-weight: 400; color: var(--quiet); }
.front-figures b { display: block; font-size: 1.45rem; line-height: 1.25; }
.front-figures dd { line-height: 1.3; }
.front-figures span { font-size: .82rem; color: var(--quiet); }
.front-decide > p { font-size: .86rem; }
.front-halves { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem 1.6rem; margin: .9rem 0; }
.front-halves > div { min-width: 0; }
.front-decide ol { list-style: none; margin: 0; padding: 0; font-size: .86rem; line-height: 1.3; }
.front-decide li { display: flex; gap: .8rem; justify-content: space-between; padding: .25rem 0; \
border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.front-decide em { color: var(--quiet); font-style: normal; }
.front-ticks { flex: none; white-space: nowrap; font-size: .82rem; overflow-wrap: normal; }
.front-lose { font-size: .86rem; line-height: 1.4; } .front-lose .scroll { margin: .5rem 0; }
.front-lose table { font-size: .82rem; } .front-lose th, .front-lose td { padding: .14rem .4rem; }
.front-lose caption { font-size: .78rem; padding-top: .25rem; caption-side: bottom; \
font-weight: 400; text-align: left; color: var(--quiet); }
.front-line { display: block; margin: .3rem 0; overflow: visible; }
.front-line .rail { fill: var(--shade); stroke: var(--line); } .front-line .usual { fill: #9db8cc; }
.front-line .here { fill: var(--ink); } .front-line text { fill: var(--quiet); font-size: .7rem; }
.front-boxes { display: grid; grid-template-columns: repeat(4, 1fr); gap: .8rem; \
font-size: .82rem; \
line-height: 1.35; }
.front-boxes div { padding: .4rem .7rem; border: 1px solid var(--line); border-radius: .4rem; \
min-width: 0; }
.front-boxes dt { font-weight: 600; } .front-boxes dd { overflow-wrap: anywhere; }
.front-sign { margin: .8rem 0 0; padding: .5rem .8rem; border: 1px solid var(--line); \
border-radius: .4rem; font-size: .86rem; }
.front-sign p { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .2rem 1rem; }
.front-lines { display: grid; grid-template-columns: 2fr 1fr 2fr; gap: 1.2rem; }
.front-lines div { display: flex; gap: .5rem; align-items: flex-end; height: 2rem; }
.front-lines span { flex: none; color: var(--quiet); font-size: .82rem; }
.front-lines i { flex: 1; border-bottom: 1px solid var(--ink); }
@media (prefers-color-scheme: dark) {
  .front { --good: #8fd6a8; --bad: #ff9c9c; --amber: #f2c078; --goodbg: #16301f; --badbg: #3a1a1a; \
--amberbg: #362812; }
  .front-icon { color: #14191d; } .front-line .usual { fill: #4f6b80; }
}
@media screen and (max-width: 48rem) {
  .front-halves, .front-figures, .front-lines { grid-template-columns: 1fr; }
  .front-boxes { grid-template-columns: 1fr 1fr; } .front-figures { gap: .4rem; }
  .front-decide li { display: block; } .front-ticks { display: block; margin-top: .2rem; }
  .front p.front-verdict { flex-wrap: wrap; } .front-verdict strong { flex: 1 1 16rem; }
}
@media print {
  .front { break-after: page; } .front-halves { gap: 3mm 5mm; margin: 3mm 0; }
  .front-verdict span:last-child { font-size: 8.4pt; }
  .front p, .front-lose, .front-decide ol { font-size: 8.2pt; line-height: 1.35; }
  .front-verdict, .front p.front-verdict { font-size: 12pt; margin: 2mm 0; padding: 1.5mm 3mm; }
  .front-figures b { font-size: 13pt; } .front-figures dt, .front-figures span, .front-boxes { \
font-size: 8pt; }
  .front-ticks, .front-lose table { font-size: 7.4pt; } .front-lose caption { font-size: 7pt; }
  .front-halves { grid-template-columns: 5fr 6fr; } .front-lose .front-effects { font-size: 6.9pt; }
  .front-lose th, .front-lose td { padding: .4mm .7mm; } .front-lines div { height: 9mm; }
  .front-decide li { display: block; } .front-ticks { display: block; }
  .front-lines span { font-size: 8pt; } .front-about { font-size: 8pt; }
  .front-line text { font-size: 6.5pt; }
  .front * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
_VARIABLES = """
.microagg-first-page { --ink: #1f2a33; --quiet: #55626d; --line: #d5dce2; --shade: #f4f6f8; \
color: var(--ink); background: #fff; padding: .6rem .8rem; font: 14px/1.5 system-ui, sans-serif; }
.microagg-first-page table { border-collapse: collapse; width: 100%; }
.microagg-first-page th { text-align: left; } .microagg-first-page .number { text-align: right; }
.microagg-first-page .scroll { overflow-x: auto; }
@media (prefers-color-scheme: dark) { .microagg-first-page { --ink: #e4e9ed; --quiet: #a9b4bd; \
--line: #3a454d; --shade: #1f272d; background: #14191d; } }
"""
FRAGMENT_CSS = _VARIABLES + FRONT_CSS
"""Style of the first page inside another page, with the colours that a report declares itself."""
_UNSAFE = re.compile(r"[^\w .,:;()+-]")


def page_footer(document: Document) -> str:
    """Return the style of the foot of printed pages: title, fingerprint, page n of m.

    >>> from microagg.release.report.document import FirstPage
    >>> page = FirstPage(("met", ""), (("Fingerprint", "0123"),), ())
    >>> "counter(pages)" in page_footer(Document("Report", "public", (), page))
    True
    """
    front = document.front
    fingerprint = "" if front is None else dict(front.about).get("Fingerprint", "")
    title = _UNSAFE.sub(" ", document.title)[:80]
    small = "font: 7.5pt system-ui, sans-serif; color: #55626d;"
    return (
        "@page { "
        f'@bottom-left {{ content: "{title} · {_UNSAFE.sub(" ", fingerprint)}"; {small} }} '
        f'@bottom-right {{ content: "page " counter(page) " of " counter(pages); {small} }} }}'
    )
