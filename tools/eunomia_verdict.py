# SPDX-License-Identifier: GPL-2.0-only
"""What a comparison says, in sentences computed from its figures.

A reason is given only where the data shows it: the figure exists for both schemes and moves with
the result. What moves against it is said as well.
"""

from dataclasses import dataclass

BASELINE = "ecmp+gbn"
# Two means closer than this are called level: another seed could swap them.
LEVEL = 0.03
# A cause is worth a line where it changed by at least this factor.
NOTABLE = 1.2
# From this ratio on, a change reads better as a factor than in percent.
MANIFOLD = 4.0


@dataclass
class Verdict:
    """Plain sentences: the result, why, and what to keep in mind."""

    headline: str
    reasons: list
    notes: list

    def lines(self):
        return [self.headline, *(f"- {text}" for text in self.reasons + self.notes)]


def baseline_of(results):
    """The scheme that others are compared with: plain ECMP where it is there, else the first."""
    return next((result for result in results if result.label == BASELINE), results[0])


def change(new, old):
    """A relative change as text, such as "-21 %" or "x15"; empty where it has no meaning."""
    if new is None or not old:
        return ""
    if new / old >= MANIFOLD:
        return f"\u00d7{new / old:,.0f}" if new / old >= 9.95 else f"\u00d7{new / old:.1f}"
    percent = round(100 * (new / old - 1))
    sign = "+" if percent > 0 else "\u2212" if percent < 0 else ""
    return f"{sign}{abs(percent)} %"


def uplink_imbalance(result):
    """How unevenly a leaf loads its uplinks: busiest over mean in one sampling interval.

    Averaged over all leaves and intervals by the bytes sent; 1 is perfectly even, None not sampled.
    """
    load = result.uplink_load()
    if load is None or not load[2].sum() > 0:
        return None
    return float(load[1].sum() / load[2].sum())


def deepest_queue(result):
    """Largest sampled depth of a switch queue in bytes; None where it was not sampled."""
    points = result.series.get(("queue_bytes", "max"))
    return float(points[1].max()) if points is not None and points[1].size else None


def resent_share(result):
    """Retransmitted packets as a share of the data packets sent."""
    resent, data = result.number("packets.retransmitted"), result.number("packets.data")
    return resent / data if resent is not None and data else None


def _mean(result):
    return result.number("fct_slowdown.all.mean")


def _p99(result):
    return result.number("fct_slowdown.all.p99")


def _against(result, other):
    return (
        f"mean slowdown {_mean(result):.2f} against {_mean(other):.2f} with {other.label} "
        f"({change(_mean(result), _mean(other))}), 99th percentile {_p99(result):.2f} "
        f"against {_p99(other):.2f} ({change(_p99(result), _p99(other))})"
    )


def _percent(share):
    return f"{100 * share:.1f} %" if share else "none"


def _count(number, thing):
    return f"{number:,.0f} {thing}" + ("" if number == 1 else "s")


def _cause(best, base, measure, shared, against):
    """A sentence on a cause: `shared` where it moved with the result, `against` where it did not."""
    ours, theirs = measure(best), measure(base)
    if ours is None or theirs is None or ours == theirs:
        return None
    low, high = sorted((ours, theirs))
    if low > 0 and high / low < NOTABLE:
        return None
    return (shared if ours < theirs else against)(ours, theirs)


def _causes(best, base):
    """Sentences on why `best` beats `base`."""

    def either(text):
        return text, text

    found = (
        _cause(
            best,
            base,
            uplink_imbalance,
            lambda ours, theirs: (
                f"Load on uplinks is more even: in one sampling interval a leaf's busiest uplink "
                f"carries {ours:.2f} times the mean of its uplinks, "
                f"{theirs:.2f} times with {base.label}."
            ),
            lambda ours, theirs: (
                f"Not from evener uplinks: a leaf's busiest carries {ours:.2f} times the mean, "
                f"{theirs:.2f} times with {base.label}."
            ),
        ),
        _cause(
            best,
            base,
            deepest_queue,
            *either(
                lambda ours, theirs: (
                    f"The deepest switch queue is {ours / 1e3:,.0f} KB, "
                    f"{theirs / 1e3:,.0f} KB with {base.label}."
                )
            ),
        ),
        _cause(
            best,
            base,
            lambda result: result.number("pfc.pauses"),
            lambda ours, theirs: (
                f"{_count(ours, 'PFC pause')} instead of {theirs:,.0f}: "
                f"fewer ports stand still for a queue elsewhere."
            ),
            lambda ours, theirs: (
                f"It pays with more PFC: {_count(ours, 'pause')} instead of {theirs:,.0f}."
            ),
        ),
        _cause(
            best,
            base,
            resent_share,
            *either(
                lambda ours, theirs: (
                    f"Retransmitted: {_percent(ours)} of the data packets, "
                    f"{_percent(theirs)} with {base.label}."
                )
            ),
        ),
    )
    return [sentence for sentence in found if sentence]


def _spraying_alone(results):
    """What spraying does without an ordering layer."""
    named = {result.label: result for result in results}
    alone, ordered = named.get("spray+gbn"), named.get("spray+eunomia")
    if alone is None or ordered is None or not (_mean(alone) and _mean(ordered)):
        return None
    if _mean(alone) <= _mean(ordered) * (1 + LEVEL):
        return None
    text = (
        f"Spraying needs the ordering layer: with go-back-N its mean slowdown is "
        f"{_mean(alone):.2f} instead of {_mean(ordered):.2f}"
    )
    early, share = alone.number("reorder.out_of_order"), resent_share(alone)
    if early and share:
        text += f", as {early:,.0f} early packets are taken for loss and {_percent(share)} "
        text += "of its packets are retransmissions"
    return text + "."


def _gate_price(results):
    named = {result.label: result for result in results}
    send, write = named.get("spray+eunomia"), named.get("spray+eunomia-write")
    if send is None or write is None or not (_mean(send) and _mean(write)):
        return None
    text = (
        f"The price of completion order for WRITE, with the gate at the sender: mean slowdown "
        f"{_mean(write):.2f} instead of {_mean(send):.2f} as SEND "
        f"({change(_mean(write), _mean(send))})"
    )
    wait = write.number("gate.mean_wait_ns")
    if wait:
        text += f"; a completion waits {wait / 1e3:.1f} \u00b5s on average"
    return text + "."


def _unfinished(results):
    for result in results:
        left = int(result.done.size - result.done.sum())
        if left:
            yield (
                f"{result.label} left {left:,} of {result.done.size:,} flows unfinished; "
                f"its averages leave them out, so it cannot be called best."
            )


def _single(result):
    if _mean(result) is None or _p99(result) is None:
        return Verdict(f"{result.label}: no flow finished.", [], list(_unfinished([result])))
    pauses, drops = result.number("pfc.pauses"), result.number("drops")
    text = (
        f"{result.label}: mean slowdown {_mean(result):.2f}, 99th percentile {_p99(result):.2f} "
        f"over {_count(int(result.done.sum()), 'flow')}"
    )
    for number, thing in ((pauses, "PFC pause"), (drops, "dropped packet")):
        if number is not None:
            text += f", {_count(number, thing)}"
    return Verdict(text + ".", [], list(_unfinished([result])))


def judge(results):
    """The verdict on one result or a comparison of several."""
    if len(results) == 1:
        return _single(results[0])
    notes = list(_unfinished(results))
    ranked = sorted(
        (r for r in results if r.done.all() and _mean(r) and _p99(r)), key=lambda r: _mean(r)
    )
    if len(ranked) < 2:
        return Verdict("Fewer than two schemes finished all flows: nothing to compare.", [], notes)
    best, second = ranked[0], ranked[1]
    base = baseline_of(results)
    reasons = []
    if base is best or base not in ranked:
        headline = f"{best.label} finishes flows fastest: {_against(best, second)}."
        if _mean(second) <= _mean(best) * (1 + LEVEL):
            headline = f"{best.label} and {second.label} are level: {_against(best, second)}."
    else:
        headline = f"{best.label} finishes flows fastest: {_against(best, base)}."
        if _mean(base) <= _mean(best) * (1 + LEVEL):
            headline = f"{best.label} and {base.label} are level: {_against(best, base)}."
        else:
            reasons = _causes(best, base)
            level = [r.label for r in ranked[1:] if _mean(r) <= _mean(best) * (1 + LEVEL)]
            if level:
                notes.insert(0, f"Level with it, within {100 * LEVEL:.0f} %: {', '.join(level)}.")
    for sentence in (_spraying_alone(results), _gate_price(results)):
        if sentence:
            notes.append(sentence)
    return Verdict(headline, reasons, notes)
