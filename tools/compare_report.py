# SPDX-License-Identifier: GPL-2.0-only
"""The pages of a comparison: Markdown, and one HTML file that needs nothing else."""

from report import STYLE, esc

# Beside the style of the report: many rows of narrow cells.
MORE_STYLE = """
main { max-width: 1240px; }
.dense .change { min-width: 3.9em; padding-left: 2px; text-align: left; }
td.words, th.words { text-align: left; }
.dense tbody th, .dense td { padding-top: 3px; padding-bottom: 3px; }
.footnote { max-width: none; color: var(--soft); font-size: 14px; }
"""


def markdown(title, facts, best, tables, footnotes):
    lines = [f"# {title}", "", f"{facts}.", ""]
    lines += [f"- {sentence}" for sentence in best]
    for table in tables:
        lines += ["", *table.markdown()]
    lines += ["", " ".join(footnotes)]
    lines += ["", "![mean and 99th percentile of the slowdown](compare.png)"]
    return "\n".join(lines) + "\n"


def page(title, facts, best, loads, after, footnotes, picture):
    """`loads` is {load: tables}, `after` tables on all loads, `picture` a PNG in base 64."""
    sections = "".join(
        f"<section><h2>{esc(load)} % load</h2>{''.join(table.html() for table in tables)}</section>"
        for load, tables in loads.items()
    )
    caption = (
        "Slowdown is a flow\u2019s completion time over that of the same flow in an idle network. "
        "Marks are means over the seeds, lines their 95 % confidence intervals; schemes by their "
        "mean slowdown at the highest load."
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{esc(title)}</title><style>{STYLE}{MORE_STYLE}</style></head><body><main>"
        f'<header><p class="kicker">Eunomia for ns-3</p><h1>{esc(title)}</h1>'
        f'<p class="facts">{esc(facts)}</p></header>'
        f'<section class="verdict">{"".join(f"<p class=headline>{esc(s)}</p>" for s in best)}'
        "</section><section><h2>Slowdown over load</h2><figure>"
        f'<img src="data:image/png;base64,{picture}" alt="{esc(caption)}">'
        f"<figcaption>{esc(caption)}</figcaption></figure></section>"
        f"<section><h2>What follows</h2>{''.join(table.html() for table in after)}</section>"
        f"{sections}<footer>{esc(' '.join(footnotes))}</footer></main></body></html>\n"
    )
