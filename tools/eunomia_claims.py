# SPDX-License-Identifier: GPL-2.0-only
"""Published figures on Eunomia beside what a comparison measured, seed by seed.

Mahmood, Lu and Ghorbani, arXiv 2412.08540, give the best of their loads ("up to"): so a claim is
reached where one load reaches it. A change is new / old - 1 with one seed, on the same flows; the
interval is over the seeds.
"""

from dataclasses import dataclass

from eunomia_intervals import changes, interval
from eunomia_tables import Table, count, decimal, signed

OURS, ECMP, CONWEAVE = "spray+eunomia", "ecmp+gbn", "conweave+gbn"


@dataclass(frozen=True)
class Claim:
    """`published` is the change of `figure` from `old` to OURS that the paper reports at most."""

    text: str
    figure: str
    old: str
    published: float


CLAIMS = (
    Claim("mean FCT slowdown", "all_mean", ECMP, -0.85),
    Claim("p99 FCT slowdown", "all_p99", ECMP, -0.91),
    Claim("mean FCT, us", "fct_mean_us", ECMP, -0.85),
    Claim("p99 FCT, us", "fct_p99_us", ECMP, -0.91),
    Claim("mean FCT slowdown", "all_mean", CONWEAVE, -0.53),
    Claim("p99 FCT slowdown", "all_p99", CONWEAVE, -0.55),
    Claim("mean FCT, us", "fct_mean_us", CONWEAVE, -0.53),
    Claim("p99 FCT, us", "fct_p99_us", CONWEAVE, -0.55),
    Claim("PFC pauses", "pauses", ECMP, -0.99),
)
ORDERING_PCT = 5.0  # published: ordering ACKs add about so much load

# What tells the effect of a window from that of ordering: (what changes, new, old).
PAIRS = (
    ("a window of one BDP, under ECMP", "ecmp+gbn/bdp", ECMP),
    ("spraying and ordering, both with that window", "spray+eunomia/bdp", "ecmp+gbn/bdp"),
    ("spraying and ordering, neither with one", OURS, ECMP),
    ("that window, under spraying and ordering", "spray+eunomia/bdp", OURS),
)


@dataclass
class Change:
    """From one scheme to another at one load. `found`: Interval of the changes, None without any;
    `void`: seeds where the old figure is 0; `after`: Interval of the new one over those."""

    found: object
    void: list
    after: object = None
    seeds: int = 0

    def text(self):
        if self.found is not None:
            few = f", n={self.found.n}" if self.void or self.found.n < self.seeds else ""
            return signed(self.found) + few
        if self.void:
            return f"0 to {count(self.after)}" if self.after.mean else "0 both"
        return "-"

    def direction(self):
        """-1 for less, 1 for more, 0 where the interval has both or nothing changed."""
        if self.found is None:
            return 1 if self.void and self.after.mean > 0 else 0
        low, high = self.found.reach()
        return -1 if high < 0 else 1 if low > 0 else 0


def change(comparison, load, new, old, figure):
    """The Change of a figure at a load."""
    ours, theirs = (comparison.values(scheme, load, figure) for scheme in (new, old))
    found, void = changes(ours, theirs)
    after = interval([ours[seed] for seed in void])
    return Change(interval(found), void, after, len(comparison.seeds))


def verdict(published, cells):
    """Whether a reduction by `published` was measured; `cells` is {load: Change}."""
    known = {load: cell for load, cell in cells.items() if cell.found is not None}
    more = [load for load, cell in cells.items() if cell.direction() > 0]
    if not known:
        if more:
            return "other direction"
        void = any(cell.void for cell in cells.values())
        return "no base: 0 with both" if void else "not measured"
    best = min(known, key=lambda load: known[load].found.mean)
    found = known[best].found
    if found.mean <= published:
        _, high = found.reach()
        firm = "" if high <= published else ", not beyond doubt"
        return f"reached at {best} %{firm}"
    if any(cell.direction() < 0 for cell in known.values()):
        other = f"; more at {', '.join(f'{load} %' for load in more)}" if more else ""
        return f"not reached{other}"
    return "other direction" if more else "not reached: no difference shown"


def _ordering_row(comparison, text, cells):
    """A row on what ordering adds to the load, in percent; `cells` is {load: Interval or None}."""
    known = {load: cell for load, cell in cells.items() if cell is not None}
    said = "not measured"
    if known:
        worst = max(known, key=lambda load: known[load].mean)
        fits = known[worst].mean <= ORDERING_PCT
        said = "reached" if fits else f"not reached: more at {worst} %"
    shown = [decimal(cells[load]) for load in comparison.loads]
    return [text, "-", f"about {ORDERING_PCT:g}", *shown, said]


def _ordering_rows(comparison):
    feedback, extra = {}, {}
    for load in comparison.loads:
        ours, theirs = (comparison.values(scheme, load, "control_pct") for scheme in (OURS, ECMP))
        both = sorted(set(ours) & set(theirs))
        extra[load] = interval([ours[seed] - theirs[seed] for seed in both])
        feedback[load] = interval(comparison.values(OURS, load, "ordering_pct").values())
    yield _ordering_row(comparison, "SACK, NACK: % of data bytes", feedback)
    yield _ordering_row(comparison, "control bytes above ECMP's", extra)


def _zero_notes(comparison):
    """A sentence on the seeds and loads without a pause under ECMP."""
    cells = {load: change(comparison, load, OURS, ECMP, "pauses") for load in comparison.loads}
    void = [
        f"{load} % ({len(cell.void)} of {cell.seeds} seeds, {OURS} has {cell.after.mean:,.0f})"
        for load, cell in cells.items()
        if cell.void
    ]
    if void:
        yield f"No PFC pause with {ECMP}, so no change: {', '.join(void)}."


def _problem_notes(comparison):
    """What went wrong with the schemes that are compared, each sentence once."""
    found = {}
    for scheme in (OURS, ECMP, CONWEAVE):
        for load in comparison.loads:
            for text in comparison.problems(scheme, load):
                found.setdefault(text, load)
    return [f"At {load} %: {text}" for text, load in found.items()]


def claims_table(comparison, duration):
    """The claims, each with what was measured at every load and a verdict."""
    rows = []
    for claim in CLAIMS:
        cells = {
            load: change(comparison, load, OURS, claim.old, claim.figure)
            for load in comparison.loads
        }
        shown = [cells[load].text() for load in comparison.loads]
        published = f"up to {claim.published:.0%}".replace("-", "\u2212").replace("%", " %")
        rows.append([claim.text, claim.old, published, *shown, verdict(claim.published, cells)])
    rows += _ordering_rows(comparison)
    heads = ["spray+eunomia", "against", "published", *(f"{load} %" for load in comparison.loads)]
    notes = [
        "Published: arXiv 2412.08540, the best of its loads. It says FCT: slowdown and time are "
        "both shown.",
        "Measured: change by seed on equal flows, mean and 95 % interval (t, "
        f"n={len(comparison.seeds)}); control bytes: points of the data bytes.",
        f"Set-up: fabric and flow sizes as published unless options say else; but {duration} of "
        "arrivals a run, start-up counted,",
        "and this project's own switch, NIC and DCQCN.",
        *_zero_notes(comparison),
        *_problem_notes(comparison),
    ]
    return Table("Published claims", [*heads, "verdict"], rows, notes, (0, 1, 2, len(heads)))


def window_table(comparison):
    """What a window does and what ordering does; None where those schemes did not run."""
    rows = []
    for text, new, old in PAIRS:
        if not {new, old} <= set(comparison.schemes):
            continue
        for name, figure in (("mean", "all_mean"), ("p99", "all_p99")):
            shown = [
                change(comparison, load, new, old, figure).text() for load in comparison.loads
            ]
            rows.append([text if name == "mean" else "", name, *shown])
    if not rows:
        return None
    heads = ["what is added", "slowdown", *(f"{load} %" for load in comparison.loads)]
    return Table("Window or ordering", heads, rows, [], (0, 1))
