# SPDX-License-Identifier: GPL-2.0-only
"""Makes result folders like those of eunomia-sim, for tests of the tools.

The figures of summary.json are computed here with plain Python from the rows written, not with the
code under test.
"""

import json
import os
import random

BDP_BYTES = 104000
DURATION_NS = 2_000_000
INTERVAL_NS = 10_000
SIZES = ((4000, 0.23), (8000, 0.69), (32000, 0.9), (128000, 0.97), (2_000_000, 1.0))

# mean excess slowdown, tail weight, pauses, share resent, early packets a flow, uplink skew, gate ns
PROFILES = {
    "ecmp+gbn": (0.45, 1.15, 160, 0.02, 0, 1.0, 0),
    "ecmp+irn": (0.35, 1.0, 0, 0.0, 0, 1.0, 0),
    "spray+gbn": (1.6, 1.0, 220, 0.38, 6, 0.15, 0),
    "spray+eunomia": (0.14, 0.8, 3, 0.0, 6, 0.15, 0),
    "spray+eunomia-write": (0.22, 0.8, 5, 0.0, 6, 0.15, 4200),
}
PLAIN = (0.5, 1.0, 40, 0.01, 1, 0.5, 0)

FLOW_HEADER = (
    "flow,src,dst,bytes,start_ns,fct_ns,visible_ns,ideal_ns,slowdown,packets,retransmitted,"
    "out_of_order,max_reorder_span,gate_wait_ns,status"
)


def flow_rows(scheme, flows, seed, unfinished=0, start_ns=0):
    """Dicts of a made-up run; sizes and starts depend on the seed only, as with one flow list."""
    excess, weight, _, resent, early, _, gate = PROFILES.get(scheme, PLAIN)
    workload, luck = random.Random(seed), random.Random(f"{scheme}/{seed}")
    rows = []
    for flow in range(flows):
        point, below, low, size = workload.random(), 0.0, 0, 0
        for high, share in SIZES:
            if point <= share:
                size = max(1, int(low + (high - low) * (point - below) / (share - below)))
                break
            low, below = high, share
        ideal = 8320 + round(size * 1.048 * 0.08)
        slowdown = 1 + excess * luck.lognormvariate(-0.5 * weight**2, weight)
        packets = -(-size // 1024)
        early_packets = sum(luck.random() < 0.1 * early for _ in range(min(packets, 50)))
        rows.append(
            {
                "flow": flow,
                "src": workload.randrange(128),
                "dst": workload.randrange(128),
                "bytes": size,
                "start_ns": start_ns + flow * DURATION_NS // flows,
                "fct_ns": round(ideal * slowdown + gate),
                "visible_ns": round(ideal * slowdown + gate - 2000),
                "ideal_ns": ideal,
                "slowdown": round(slowdown + gate / ideal, 6),
                "packets": packets,
                "retransmitted": sum(luck.random() < resent for _ in range(min(packets, 50))),
                "out_of_order": early_packets,
                "max_reorder_span": luck.randrange(1, 40) if early_packets else 0,
                "gate_wait_ns": gate,
                "status": "done",
            }
        )
    for row in rows[flows - unfinished :]:
        row.update(fct_ns="", visible_ns="", slowdown="", gate_wait_ns="", status="unfinished")
    return rows


def quantile(values, share):
    """Linear between order statistics."""
    values = sorted(values)
    place = (len(values) - 1) * share
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def _spread(values):
    if not values:
        return {"count": 0, "mean": None, "p50": None, "p95": None, "p99": None, "p999": None}
    found = {"count": len(values), "mean": sum(values) / len(values)}
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)):
        found[name] = quantile(values, share)
    return found


def _classes(rows, value):
    done = [row for row in rows if row["status"] == "done"]
    small = [row for row in done if row["bytes"] < BDP_BYTES]
    large = [row for row in done if row["bytes"] >= BDP_BYTES]
    named = (("all", done), ("small", small), ("large", large))
    return {name: _spread([value(row) for row in part]) for name, part in named}


def summary(scheme, rows, seed):
    _, _, pauses, _, _, _, gate = PROFILES.get(scheme, PLAIN)
    done = sum(row["status"] == "done" for row in rows)
    balancer, _, transport = scheme.partition("+")
    spans = [row["max_reorder_span"] for row in rows]
    return {
        "version": "0.1.0",
        "config": {
            "topology": "clos",
            "leaves": 8,
            "spines": 8,
            "hostsPerLeaf": 16,
            "linkRate_bps": 100_000_000_000,
            "linkDelay_ps": 1_000_000,
            "workload": "AliStorage2019",
            "load": 0.5,
            "duration_ps": DURATION_NS * 1000,
            "drain_ps": 100_000_000_000,
            "warmup_ps": 0,
            "pfc": True,
            "mtu": 1024,
            "bdp_bytes": BDP_BYTES,
            "seed": seed,
            "lb": balancer,
            "transport": transport.partition("-")[0],
            "verb": "write" if scheme.endswith("-write") else "send",
            "ns3::EunomiaNic::PoolBlocks": "1024",
            "ns3::EunomiaSwitch::EcnKmin": "100000",
        },
        "flows": {"total": len(rows), "done": done},
        "fct_slowdown": _classes(rows, lambda row: row["slowdown"]),
        "fct_us": _classes(rows, lambda row: row["fct_ns"] / 1e3),
        "pfc": {"pauses": pauses, "paused_us": pauses * 11.5},
        "drops": 0,
        "ecn_marks": 17,
        "packets": {
            "data": sum(row["packets"] + row["retransmitted"] for row in rows),
            "retransmitted": sum(row["retransmitted"] for row in rows),
            "signal": 3 * pauses,
        },
        "reorder": {
            "out_of_order": sum(row["out_of_order"] for row in rows),
            "max_span": max(spans, default=0),
        },
        "pool": {"blocks_peak": 310 if "eunomia" in scheme else 0},
        "gate": {"completions": done, "early": 0, "mean_wait_ns": gate},
    }


def series_rows(scheme, seed, start_ns=0):
    """(time_ns, metric, where, value) of every metric that eunomia-sim samples."""
    _, _, pauses, _, early, skew, _ = PROFILES.get(scheme, PLAIN)
    luck = random.Random(f"series/{scheme}/{seed}")
    for tick in range(1, DURATION_NS * 5 // 4 // INTERVAL_NS):
        time = start_ns + tick * INTERVAL_NS
        busy = 1.0 if tick * INTERVAL_NS < DURATION_NS else 0.1
        if "eunomia" in scheme:
            yield time, "pool_blocks", "max", int(busy * luck.uniform(40, 310))
            yield time, "pool_blocks", "total", int(busy * luck.uniform(900, 2500))
            yield time, "pool_blocks", "host7", int(busy * luck.uniform(40, 310))
        deepest = busy * (2e3 + 4e5 * skew) * luck.uniform(0.3, 1)
        yield time, "queue_bytes", "max", int(deepest)
        yield time, "queue_bytes", "mean", int(deepest / 40)
        yield time, "queue_bytes", "leaf0:3", int(deepest * luck.random())
        yield time, "flows_active", "all", int(busy * luck.uniform(100, 400))
        yield time, "paused_ports", "all", int(luck.random() * pauses / 30)
        for leaf in range(2):
            for uplink in range(16, 20):
                value = busy * 60000 * (1 + skew * luck.uniform(-0.9, 0.9))
                yield time, "uplink_bytes", f"leaf{leaf}:{uplink}", int(value)


def write(folder, scheme="spray+eunomia", flows=400, seed=1, unfinished=0, start_ns=0, extras=True):
    """Writes one result folder and returns (rows, summary)."""
    os.makedirs(folder)
    rows = flow_rows(scheme, flows, seed, unfinished, start_ns)
    with open(os.path.join(folder, "flows.csv"), "w", encoding="utf-8") as file:
        file.write(FLOW_HEADER + "\n")
        for row in rows:
            file.write(",".join(str(row[name]) for name in FLOW_HEADER.split(",")) + "\n")
    figures = summary(scheme, rows, seed)
    with open(os.path.join(folder, "summary.json"), "w", encoding="utf-8") as file:
        json.dump(figures, file)
    if not extras:
        return rows, figures
    with open(os.path.join(folder, "timing.json"), "w", encoding="utf-8") as file:
        timing = {"wall_s": 12.5, "events": 30_000_000, "packet_hops": 22_000_000}
        timing.update(packet_hops_per_s=1_760_000.0, peak_rss_bytes=90_000_000)
        json.dump(timing, file)
    luck = random.Random(seed)
    pauses = sorted(luck.randrange(DURATION_NS) for _ in range(figures["pfc"]["pauses"]))
    with open(os.path.join(folder, "pfc.csv"), "w", encoding="utf-8") as file:
        file.write("time_ns,node,port,priority,event\n")
        for time in pauses:
            file.write(f"{start_ns + time},{128 + time % 8},{time % 24},3,xoff\n")
            file.write(f"{start_ns + time + 11500},{128 + time % 8},{time % 24},3,xon\n")
    with open(os.path.join(folder, "timeseries.csv"), "w", encoding="utf-8") as file:
        file.write("time_ns,metric,where,value\n")
        for row in series_rows(scheme, seed, start_ns):
            file.write(",".join(map(str, row)) + "\n")
    return rows, figures


def memory_report():
    """An object as `eunomia memory --json` prints it, made up from the published model."""

    def use(scale):
        return {
            "allocations": 2 * scale,
            "rented_bytes": 4.0 * scale,
            "waste_bytes": 1.5 * scale,
            "total_bytes": 52.0 * scale,
        }

    return {
        "model": {
            "bytes": {"fixed": 41, "resident": 4, "metadata": 48, "block": 2, "block_psns": 16},
            "crossing_pct": {"16": 74.0, "64": 66.0714, "256": 46.25},
        },
        "measured": {"qps": 1000, "active_pct": 5, "psns": 64},
        "measured_by_share": [
            {
                "active_pct": pct,
                "fixed_bytes": 41000,
                "model_bytes": 4000 + 560 * pct,
                "state_bytes": 4000 + 560 * pct,
                "control_bytes": 300 + 5 * pct,
                "unused_bytes": 10,
                "total_bytes": 4310 + 565 * pct,
            }
            for pct in (5, 20, 60, 100)
        ],
        "microbenchmark": [
            {
                "reordered_pct": 5 * n,
                "dynamic_bytes": 80 + 58 * n,
                "settled_bytes": 80 + 56 * n,
                "fixed_bytes": 820,
                "span_psns": 64 if n else 0,
            }
            for n in range(21)
        ],
        "microbenchmark_crossing_pct": 63.7931,
        "microbenchmark_settled_crossing_pct": 66.0714,
        "block_size": {
            "pool_bytes": 2048,
            "mean_span_psns": {"uniform": 129.0, "geometric": 17.0},
            "rows": [
                {
                    "block_bytes": size,
                    "id_bits": 12 - bit,
                    "metadata_bytes": 48,
                    "uniform": use(size),
                    "geometric": use(size / 2),
                }
                for bit, size in enumerate((2, 4, 8, 16, 32, 64), 1)
            ],
        },
        "admission": {
            "pool_bytes": 2048,
            "qps": 1000,
            "rows": [
                {"psns": n, "model_qps": 2048 // (48 + n // 8), "measured_qps": 40 - n // 16}
                for n in range(16, 257, 16)
            ],
        },
    }
