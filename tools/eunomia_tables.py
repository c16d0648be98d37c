# SPDX-License-Identifier: GPL-2.0-only
"""One table as text for a terminal, as Markdown and as HTML."""

import html
from dataclasses import dataclass, field

PLUS_MINUS = "\u00b1"
MINUS = "\u2212"
# From these on a count is shown in thousands, in millions.
THOUSANDS, MILLIONS = 1e5, 1e7


@dataclass
class Table:
    """`rows` are lists of cells, as texts; a cell "1.20 +-0.05" (with the sign) is aligned at the
    sign. `notes` are sentences below it. The columns of `plain` hold words, aligned left."""

    title: str
    heads: list
    rows: list
    notes: list = field(default_factory=list)
    plain: tuple = (0,)

    def text(self):
        """Lines."""
        grid = [self.heads, *self.rows]
        columns = [self._column(place, cells) for place, cells in enumerate(zip(*grid))]
        lines = ["  ".join(cells).rstrip() for cells in zip(*columns)]
        rule = "-" * max(map(len, lines))
        return [self.title, rule, lines[0], rule, *lines[1:], *self.notes]

    def _column(self, place, cells):
        """The cells of one column, all as wide as the widest."""
        if place in self.plain:
            width = max(map(len, cells))
            return [cell.ljust(width) for cell in cells]
        parts = [cell.partition(" " + PLUS_MINUS) for cell in cells[1:]]
        after = max((len(sign + half) for _, sign, half in parts), default=0)
        cells = [cells[0]] + [mean + (sign + half).ljust(after) for mean, sign, half in parts]
        width = max(map(len, cells))
        return [cell.rjust(width) for cell in cells]

    def markdown(self):
        """Lines."""
        sides = [":--" if place in self.plain else "--:" for place in range(len(self.heads))]
        grid = [self.heads, sides, *self.rows]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in grid]
        notes = [line for note in self.notes for line in ("", note)]
        return [f"### {self.title}", "", *lines, *notes]

    def html(self):
        """Elements of a page that has the style of the report."""
        heads = "".join(
            f"<th scope=col{self._kind(place)}>{html.escape(head)}</th>"
            for place, head in enumerate(self.heads)
        )
        halves = [any(PLUS_MINUS in cell for cell in cells) for cells in zip(*self.rows)]
        body = "".join(f"<tr>{self._html_row(row, halves)}</tr>" for row in self.rows)
        notes = "".join(f"<p class=facts>{html.escape(note)}</p>" for note in self.notes)
        return (
            f'<h3>{html.escape(self.title)}</h3><div class="scroll"><table class="wide dense">'
            f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>{notes}"
        )

    def _kind(self, place):
        return ' class="words"' if place in self.plain else ""

    def _html_row(self, row, halves):
        """`halves` says of each column whether all its cells leave room for an interval."""
        cells = []
        for place, cell in enumerate(row):
            mean, sign, half = map(html.escape, cell.partition(" " + PLUS_MINUS))
            wide = halves[place] and place not in self.plain
            small = f' <span class="change">{(sign + half).strip()}</span>' if wide else ""
            tag = "th scope=row" if place == 0 else "td"
            cells.append(f"<{tag}{self._kind(place)}>{mean}{small}</{tag.split()[0]}>")
        return "".join(cells)


def _with_half(found, mean, half):
    return mean if found.half is None else f"{mean} {PLUS_MINUS}{half}"


def decimal(found, decimals=2):
    """An Interval as text; "-" for None. Large values have fewer decimals."""
    if found is None:
        return "-"
    decimals = decimals if abs(found.mean) < 100 else max(0, decimals - 1)
    mean = f"{found.mean:,.{decimals}f}".replace("-", MINUS)
    return _with_half(found, mean, f"{found.half or 0:,.{decimals}f}")


def count(found):
    """An Interval of counts as text, in thousands or millions where large."""
    if found is None:
        return "-"
    half, size = found.half or 0, abs(found.mean)
    scale, unit, decimals = 1, "", 0
    if size >= MILLIONS:
        scale, unit, decimals = 1e6, "M", 1
    elif size >= THOUSANDS:
        scale, unit = 1e3, "k"
    elif size < 100 and not (size.is_integer() and float(half).is_integer()):
        decimals = 1
    mean, half = (f"{value / scale:,.{decimals}f}{unit}" for value in (found.mean, half))
    return _with_half(found, mean, half)


def signed(found, unit=" %", scale=100):
    """An Interval of changes as text, such as -29 % +-5 with the signs of print."""
    if found is None:
        return "-"
    value = found.mean * scale
    wide = not 1e-6 < (found.half or 0) * scale < 0.95  # or without any width
    decimals = 0 if abs(value) >= 9.95 and wide else 1
    text = f"{abs(value):,.{decimals}f}"
    sign = "" if not text.strip("0.") else "+" if value > 0 else MINUS
    return _with_half(found, f"{sign}{text}{unit}", f"{(found.half or 0) * scale:,.{decimals}f}")
