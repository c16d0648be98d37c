# SPDX-License-Identifier: GPL-2.0-only
"""The figures a comparison shows: one list for the text table, the CSV and the report."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One row of the table: `path` is dotted, in summary.json, `scale` its factor to `unit`."""

    group: str
    name: str  # in the table
    key: str  # column in the CSV
    path: str
    unit: str = ""
    scale: float = 1.0
    decimals: int = 0
    judged: bool = False  # lower is better: the report marks the best and shows the change

    def value(self, result):
        """The value in `unit`, or None where the run has none."""
        raw = result.number(self.path)
        return None if raw is None else raw * self.scale

    def text(self, result):
        return show(self.value(result), self.decimals)

    def title(self):
        return f"{self.name} ({self.unit})" if self.unit else self.name


def show(value, decimals=0):
    """A number for people: thousands separated, "-" where there is none."""
    if value is None:
        return "-"
    return f"{value:,.{decimals}f}" if value else "0"


def _slowdown(flows, group):
    prefix = "" if flows == "all" else flows + "_"
    return [
        Metric(
            group,
            name,
            f"{prefix}slowdown_{key}",
            f"fct_slowdown.{flows}.{key}",
            decimals=2,
            judged=True,
        )
        for name, key in (("mean", "mean"), ("median", "p50"), ("99th percentile", "p99"))
    ]


METRICS = (
    *_slowdown("all", "FCT slowdown, all flows"),
    *_slowdown("small", "Small flows (< 1 BDP)"),
    *_slowdown("large", "Large flows (1 BDP and more)"),
    Metric("PFC", "pauses sent", "pfc_pauses", "pfc.pauses"),
    Metric("PFC", "time paused", "pfc_paused_us", "pfc.paused_us", unit="us"),
    Metric("Loss", "packets dropped", "drops", "drops"),
    Metric("Loss", "packets retransmitted", "retransmitted", "packets.retransmitted"),
    Metric("Order", "packets out of order", "out_of_order", "reorder.out_of_order"),
    Metric("Order", "longest reorder span", "max_reorder_span", "reorder.max_span", unit="PSNs"),
    Metric("Order", "signals of the balancer", "signals", "packets.signal", unit="frames"),
    Metric("Order", "pool peak", "pool_peak_blocks", "pool.blocks_peak", unit="blocks"),
    Metric("Order", "mean gate wait", "gate_wait_us", "gate.mean_wait_ns", "us", 1e-3, decimals=2),
)


def finished(result):
    """(flows done, flows in all)."""
    return int(result.done.sum()), int(result.done.size)
