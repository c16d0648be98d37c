#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draws the pictures of result folders and writes report.html, one file that needs nothing else.

OUT_DIR gets report.html and the PNG files. A DIR that holds result folders stands for those.
"""

import argparse
import base64
import html
import os

import eunomia_figures
import eunomia_results
from eunomia_metrics import METRICS, finished, show
from eunomia_results import ResultError
from eunomia_verdict import baseline_of, change, judge

STYLE = """
:root { --ink: #1c1f23; --soft: #5d6670; --line: #e2e5e9; --wash: #f6f7f9; --mark: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: var(--ink);
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial,
             sans-serif; }
main { max-width: 1060px; margin: 0 auto; padding: 44px 28px 64px; }
.kicker { margin: 0 0 6px; color: var(--soft); font-size: 14px; }
h1 { margin: 0; font-size: 31px; line-height: 1.2; letter-spacing: -0.012em; }
.facts { margin: 8px 0 0; color: var(--soft); }
h2 { margin: 52px 0 12px; font-size: 20px; letter-spacing: -0.005em; }
h3 { margin: 28px 0 8px; font-size: 16px; }
p { max-width: 74ch; }
.verdict { margin: 30px 0 0; padding: 22px 26px 18px; background: var(--wash);
           border-left: 4px solid var(--mark); }
.verdict .headline { margin: 0; max-width: none; font-size: 20px; line-height: 1.42;
                     font-weight: 600; }
.verdict ul { margin: 14px 0 0; padding-left: 20px; }
.verdict li { margin: 5px 0; }
.scroll { overflow-x: auto; }
.narrow { min-width: 420px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 15px; }
.wide { width: 100%; }
th, td { padding: 6px 12px; text-align: right; white-space: nowrap;
         border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { padding-left: 0; text-align: left; }
td:last-child, th:last-child { padding-right: 0; }
thead th { padding-bottom: 8px; border-bottom: 2px solid var(--ink); vertical-align: bottom; }
tr.group th { padding-top: 16px; color: var(--soft); font-weight: 600; font-size: 14px;
              border-bottom: 1px solid var(--line); }
tbody th { font-weight: 400; }
.dense { font-size: 14px; }
.dense th, .dense td { padding-left: 5px; padding-right: 5px; }
.dense th:first-child, .dense td:first-child { padding-left: 0; }
.dense thead th { white-space: normal; }
.dense .change { min-width: 3.7em; font-size: 12.5px; }
.denser .change { display: none; }
.swatch { display: inline-block; width: 12px; height: 12px; margin-right: 7px; border-radius: 3px;
          vertical-align: -1px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.best { font-weight: 700; }
.change { display: inline-block; min-width: 4.2em; color: var(--soft); font-weight: 400;
          font-size: 13.5px; }
figure { margin: 0 0 8px; }
figure img { display: block; width: 100%; height: auto; }
figcaption { margin-top: 10px; max-width: 74ch; color: var(--soft); font-size: 15px; }
.options { columns: 3 250px; column-gap: 36px; font-size: 14px; margin: 0; }
.attributes { columns: 2 400px; margin-top: 22px; }
.options div { display: flex; justify-content: space-between; gap: 14px; padding: 3px 0;
               border-bottom: 1px solid var(--line); break-inside: avoid; }
.options dt { color: var(--soft); overflow-wrap: anywhere; }
.options dd { margin: 0; text-align: right; overflow-wrap: anywhere; }
footer { margin-top: 56px; padding-top: 16px; border-top: 1px solid var(--line);
         color: var(--soft); font-size: 14px; }
@media print {
  @page { size: A4; margin: 14mm 13mm; }
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  h1 { font-size: 20pt; }
  h2 { margin-top: 22pt; font-size: 13.5pt; }
  h2, h3, tr.group { break-after: avoid; }
  figure, .verdict, tr { break-inside: avoid; }
  .verdict { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .verdict .headline { font-size: 13pt; }
  .scroll { overflow: visible; }
  table { font-size: 8.5pt; }
  th, td { padding: 3pt 4pt; }
  thead th { white-space: normal; }
  .dense { font-size: 8pt; }
  tr.group th { padding-top: 8pt; font-size: 8.5pt; }
  .swatch { width: 7pt; height: 7pt; margin-right: 3pt; }
  .change { min-width: 3.3em; font-size: 7.5pt; }
  figcaption, .facts, footer { font-size: 9.5pt; }
}
"""

# (file, heading, caption): a heading of "" continues the section above.
SECTIONS = (
    (
        "fct_cdf.png",
        "Flow completion time",
        "Slowdown is a flow\u2019s completion time over that of the same flow in an idle network: "
        "1 is perfect. Left, the share of flows at most that slow; right, the slowest half, where "
        "each step to the right is a rarer flow.",
    ),
    (
        "fct_by_size.png",
        "Which flows pay",
        "Flows ordered by size and cut into bins of equally many. Short flows wait behind queues; "
        "long ones lose to collisions and rate cuts.",
    ),
    (
        "pfc.png",
        "Priority flow control",
        "A pause stops an upstream port, and every flow through it, until the queue that asked for "
        "it has drained.",
    ),
    (
        "queue.png",
        "Queues and uplinks",
        "Queue depth over all switch ports at each sample. Uplink imbalance compares the busiest "
        "uplink of a leaf with the mean of its uplinks within one sampling interval: 1 is an even "
        "spread.",
    ),
    (
        "pool.png",
        "Reordering and what it takes to absorb it",
        "Left, 2-byte blocks in use in the NIC that uses most of them. Right, the share of flows "
        "whose packets arrived at least that far ahead of the first missing one.",
    ),
)

# Columns that fit on a page with the change beside each figure, and in the usual size.
MOST_WITH_CHANGES = 6
MOST_AT_EASE = 4


TIME_UNITS = ((1e12, "s"), (1e9, "ms"), (1e6, "\u00b5s"), (1e3, "ns"), (1, "ps"))
RATE_UNITS = ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1, "b/s"))
# A config key ends with the unit of its value.
KEY_UNITS = {"_ps": TIME_UNITS, "_bps": RATE_UNITS}


def in_units(value, units):
    """A number with the largest of `units` that leaves it at least 1, such as 2 ms."""
    factor, unit = next(((f, u) for f, u in units if abs(value) >= f), units[-1])
    return f"{value / factor:g} {unit}"


def esc(text):
    return html.escape(str(text), quote=True)


def _same(results, key):
    """A config value that all runs share, as text; None where they differ or lack it."""
    values = {str(result.config().get(key)) for result in results}
    return values.pop() if len(values) == 1 and "None" not in values else None


def title_of(results):
    """What was simulated, in a line."""
    if len(results) == 1:
        return results[0].label
    workload = _same(results, "flows") or _same(results, "workload")
    if not workload:
        return f"{len(results)} runs compared"
    text = f"{len(results)} schemes on {os.path.basename(workload.removeprefix('file:'))}"
    load = _same(results, "load")
    try:
        return f"{text} at {float(load):.0%} load".replace("%", "\u2009%")
    except (TypeError, ValueError):
        return text


def facts_of(results):
    """Topology, size and seed, as far as all runs share them."""
    parts = []
    topology = _same(results, "topology")
    leaves, spines, hosts = (_same(results, k) for k in ("leaves", "spines", "hostsPerLeaf"))
    if topology == "clos" and leaves and spines:
        parts.append(f"{leaves}\u00d7{spines} Clos")
        if hosts and leaves.isdigit() and hosts.isdigit():
            parts.append(f"{int(leaves) * int(hosts):,} hosts")
    elif topology:
        parts.append(topology)
    rate = _same(results, "linkRate_bps")
    if rate and rate.isdigit():
        parts.append(f"{in_units(int(rate), RATE_UNITS)} links")
    totals = {finished(result)[1] for result in results}
    if len(totals) == 1:
        parts.append(f"{totals.pop():,} flows")
    if _same(results, "seed"):
        parts.append(f"seed {_same(results, 'seed')}")
    return ", ".join(parts)


def verdict_html(results):
    verdict = judge(results)
    items = [f"<li>{esc(text)}</li>" for text in verdict.reasons + verdict.notes]
    listed = f"<ul>{''.join(items)}</ul>" if items else ""
    return f'<section class="verdict"><p class="headline">{esc(verdict.headline)}</p>{listed}</section>'


def _breakable(label):
    """A scheme's name that may break after its plus signs."""
    return esc(label).replace("+", "+<wbr>")


def _swatch(colour):
    return f'<span class="swatch" style="background:{colour}"></span>'


def _width(results):
    """The class of a table with a column for each result."""
    if len(results) == 1:
        return "narrow"
    if len(results) > MOST_WITH_CHANGES:
        return "wide dense denser"
    return "wide dense" if len(results) > MOST_AT_EASE else "wide"


def _cells(metric, results, base):
    """One row of the figures: the best value marked, changes against the baseline beside it."""
    values = [metric.value(result) for result in results]
    texts = [metric.text(result) for result in results]
    known = [value for value in values if value is not None]
    cells = []
    for result, value, text in zip(results, values, texts):
        mark = " best" if metric.judged and len(known) > 1 and value == min(known) else ""
        moved = ""
        if metric.judged and len(results) > 1:
            moved = "" if result is base else change(value, metric.value(base))
            moved = f' <span class="change">{moved}</span>'
        cells.append(f'<td class="num{mark}">{text}{moved}</td>')
    return "".join(cells)


def figures_html(results, looks):
    """The table of figures."""
    base = baseline_of(results)
    padding = ' <span class="change"></span>' if len(results) > 1 else ""
    heads = "".join(
        f"<th scope=col>{_swatch(looks[r.label][0])}{_breakable(r.label)}</th>" for r in results
    )
    rows = []
    done = "".join(
        f"<td>{show(d) if d == t else f'{d:,} of {t:,}'}{padding}</td>"
        for d, t in map(finished, results)
    )
    rows.append(f"<tr><th scope=row>flows finished</th>{done}</tr>")
    group = None
    for metric in METRICS:
        if metric.group != group:
            group = metric.group
            rows.append(
                f'<tr class="group"><th scope=rowgroup colspan="{len(results) + 1}">'
                f"{esc(group)}</th></tr>"
            )
        cells = _cells(metric, results, base)
        if not metric.judged:
            cells = cells.replace("</td>", padding + "</td>")
        title = esc(metric.title().replace("(us)", "(\u00b5s)"))
        rows.append(f"<tr><th scope=row>{title}</th>{cells}</tr>")
    note = ""
    if 1 < len(results) <= MOST_WITH_CHANGES:
        note = (
            f"<p class=facts>Small figures: change against {esc(base.label)}. Bold: the best.</p>"
        )
    elif len(results) > 1:
        note = "<p class=facts>Bold: the best.</p>"
    return (
        f'<div class="scroll"><table class="{_width(results)}"><thead><tr><th></th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{note}"
    )


def pictures_html(folder):
    parts = []
    for name, heading, caption in SECTIONS:
        with open(os.path.join(folder, name), "rb") as file:
            data = base64.b64encode(file.read()).decode("ascii")
        parts.append(
            f"<section><h2>{esc(heading)}</h2><figure>"
            f'<img src="data:image/png;base64,{data}" alt="{esc(heading)}: {esc(caption)}">'
            f"<figcaption>{esc(caption)}</figcaption></figure></section>"
        )
    return "".join(parts)


def setup_html(results):
    """The options: those all runs share, and those that tell them apart."""
    configs = [result.config() for result in results]
    keys = list(dict.fromkeys(key for config in configs for key in config))
    if not keys:
        return ""
    missing = object()

    def differs(key):
        return any(config.get(key, missing) != configs[0].get(key, missing) for config in configs)

    apart = [key for key in keys if differs(key)]
    parts = ["<section><h2>Set-up</h2>"]
    if apart:
        heads = "".join(f"<th scope=col>{_breakable(result.label)}</th>" for result in results)
        rows = "".join(
            f"<tr><th scope=row>{esc(option_name(key))}</th>"
            + "".join(f"<td>{esc(option_text(key, config.get(key)))}</td>" for config in configs)
            + "</tr>"
            for key in apart
        )
        parts.append(
            f'<div class="scroll"><table class="{_width(results)}"><thead><tr><th></th>{heads}</tr>'
            f"</thead><tbody>{rows}</tbody></table></div><h3>The same in all runs</h3>"
        )
    shared = [key for key in keys if key not in apart]
    for attributes in (False, True):
        parts.append(_option_list(configs[0], [k for k in shared if ("::" in k) == attributes]))
    return "".join(parts) + "</section>"


def _option_list(config, keys):
    """Options as a list in columns; the long names of ns-3 attributes in wider ones."""
    if not keys:
        return ""
    wide = " attributes" if "::" in keys[0] else ""
    items = "".join(
        f"<div><dt>{esc(option_name(key))}</dt><dd>{esc(option_text(key, config[key]))}</dd></div>"
        for key in keys
    )
    return f'<dl class="options{wide}">{items}</dl>'


def option_name(key):
    """An option's key for people, without its unit."""
    for ending in (*KEY_UNITS, "_bytes"):
        key = key.removesuffix(ending)
    return key.removeprefix("ns3::")


def option_text(key, value):
    """An option's value for people, with its unit."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    if isinstance(value, int):
        for ending, units in KEY_UNITS.items():
            if key.endswith(ending):
                return in_units(value, units) if value else "0"
        if key.endswith("_bytes"):
            return f"{value:,} bytes"
    return str(value)


RUN_COLUMNS = (
    ("wall time (s)", "wall_s", 1, 1),
    ("events", "events", 1, 0),
    ("packet-hops", "packet_hops", 1, 0),
    ("packet-hops/s", "packet_hops_per_s", 1, 0),
    ("peak memory (MB)", "peak_rss_bytes", 1e-6, 0),
)


def runs_html(results):
    """What the simulations themselves took."""
    if not any(result.timing for result in results):
        return ""
    rows = []
    for result in results:
        cells = ""
        for _, key, scale, decimals in RUN_COLUMNS:
            value = result.timing.get(key)
            known = isinstance(value, (int, float)) and not isinstance(value, bool)
            cells += f"<td>{show(value * scale if known else None, decimals)}</td>"
        rows.append(f"<tr><th scope=row>{esc(result.label)}</th>{cells}</tr>")
    heads = "".join(f"<th scope=col>{esc(title)}</th>" for title, *_ in RUN_COLUMNS)
    return (
        '<section><h2>The runs</h2><div class="scroll"><table class="wide"><thead><tr><th></th>'
        f"{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def page(results, folder):
    """The whole report as text."""
    looks = eunomia_figures.styles([result.label for result in results])
    versions = sorted({str(result.summary.get("version", "")) for result in results} - {""})
    kicker = "Eunomia for ns-3" + (f" {', '.join(versions)}" if versions else "")
    title = title_of(results)
    seed, bdp = _same(results, "seed"), _same(results, "bdp_bytes")
    here = f", here {int(bdp):,}" if bdp and bdp.isdigit() else ""
    caution = ""
    if len(results) > 1:
        caution = (
            "One run a scheme"
            + (f", all with seed {seed}" if seed else "")
            + ". Another seed moves the figures, the 99th percentiles most: "
            "repeat a close result with several. "
        )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{esc(title)}</title><style>{STYLE}</style></head><body><main>"
        f'<header><p class="kicker">{esc(kicker)}</p><h1>{esc(title)}</h1>'
        f'<p class="facts">{esc(facts_of(results))}</p></header>'
        f"{verdict_html(results)}"
        f"<section><h2>In numbers</h2>{figures_html(results, looks)}</section>"
        f"{pictures_html(folder)}{setup_html(results)}{runs_html(results)}"
        f"<footer>{caution}Averages count finished flows. BDP: the bytes in flight that fill the "
        f"path of an idle network{here}.</footer></main></body></html>\n"
    )


def write_report(folder, results):
    """Draws the pictures into `folder` and writes its report.html; returns the report's path."""
    path = os.path.join(folder, "report.html")
    try:
        os.makedirs(folder, exist_ok=True)
        eunomia_figures.draw(results, folder)
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(results, folder))
    except OSError as error:
        raise ResultError(f"{error.filename or folder}: {error.strerror or error}") from error
    return path


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", metavar="OUT_DIR", help="where to write; made if missing")
    parser.add_argument("folders", nargs="+", metavar="DIR", help="result folder")
    options = parser.parse_args()
    print(write_report(options.out, eunomia_results.load_all(options.folders)))
    return 0


if __name__ == "__main__":
    eunomia_results.run_tool("report.py", main)
