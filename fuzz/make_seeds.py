#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes the handwritten seeds fuzz/corpus/TARGET/seed-NAME.

Each seed is a case worth keeping, spelled in the bytes that the target reads: see the head of
fuzz-TARGET.c. Where a format changes, this file changes, and one run of it renews the seeds.
"""

import os
import sys

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")

AT_24_BITS, AT_32_BITS, AT_31_BITS = (bytes([16 * 4 + kind]) for kind in range(3))


def u16(value):
    return (value & 0xFFFF).to_bytes(2, "little")


def u32(value):
    return (value & 0xFFFFFFFF).to_bytes(4, "little")


def psn(value):
    """A first PSN, spelled out."""
    return b"\x03" + u32(value)


# ---- receiver ----


def nic(flags=0, blocks=256, cap=256, epoch=16, ack_every=1, fallback=4, staging=4, nack=4):
    rest = bytes([cap - 1, epoch, ack_every - 1, fallback, staging, nack])
    return bytes([flags]) + u16(blocks) + rest


# In the upper bits of the byte `fallback`.
IRN, MPRDMA = 2 * 8, 3 * 8

GBN, STAGE, SMALL_BLOCKS, TWO_BANKS, CHAINS, RESERVE, WIDE = 1, 2, 4, 8, 32, 64, 128


def rx(operation, *arguments, qp=0):
    return bytes([qp + 4 * operation, *arguments])


def rx_open(first=psn(0), lasts=0x8001, qp=0):
    """Odd `lasts`: bit i of each 16 PSNs; even: bits 1 to 15 say which of PSNs 33 to 47 of 64."""
    return rx(0, qp=qp) + first + u16(lasts)


NEXT = rx(0)
VALIDATE = rx(14)
CLOSE = rx(15)
CORRUPT = rx(12)


def early(*distances, qp=0):
    return b"".join(rx(7, distance, qp=qp) for distance in distances)


def far(*distances, qp=0):
    return b"".join(rx(8, qp=qp) + u16(distance) for distance in distances)


def in_order(count, qp=0):
    return rx(1, count, qp=qp)


def forged(flags, psn_distance, head_distance):
    return rx(11, flags) + u16(psn_distance) + u16(head_distance)


RECEIVER = {
    "last-comes-before-its-message": nic()
    + rx_open()
    + in_order(3)
    + early(5, 9, 17, 12)
    + in_order(16)
    + VALIDATE,
    "no-block-at-all": nic(blocks=0, fallback=2) + rx_open() + early(1, 2, 3, 4) + in_order(20),
    "cap-of-one": nic(cap=1) + rx_open() + early(1, 2, 200) + in_order(3),
    "cap-hit": nic(cap=16) + rx_open() + early(15, 16, 17) + in_order(20),
    "staging-is-full": nic(STAGE, staging=1)
    + rx_open(lasts=0xFFFF)
    + early(1, 2, 3)
    + NEXT
    + early(1, 2)
    + in_order(9),
    "psn-wraps-at-24-bits": nic() + rx_open(AT_24_BITS) + early(30, 20, 10) + in_order(40),
    "psn-wraps-at-31-bits": nic() + rx_open(AT_31_BITS) + early(30, 20, 10) + in_order(40),
    "psn-wraps-at-32-bits": nic() + rx_open(AT_32_BITS) + early(30, 20, 10) + in_order(40),
    "corrupt-with-lasts-staged": nic(STAGE)
    + rx_open()
    + early(15, 20, 31)
    + CORRUPT
    + early(3)
    + in_order(40)
    + early(9)
    + VALIDATE,
    "corrupt-while-idle": nic() + rx_open() + early(1) + NEXT + CORRUPT + early(1) + in_order(9),
    "corrupt-again-in-the-fallback": nic() + rx_open() + early(9) + CORRUPT + CORRUPT + early(3),
    "leak-starves-the-pool": nic(blocks=30, fallback=1)
    + rx_open()
    + early(1)
    + CORRUPT
    + in_order(9)
    + early(1, 2)
    + VALIDATE
    + in_order(9)
    + early(1),
    "closed-with-a-gap": nic(STAGE) + rx_open() + early(15, 31) + CLOSE + rx_open() + in_order(40),
    "two-qps-one-metadata": nic(blocks=26, fallback=3)
    + rx_open()
    + rx_open(qp=1)
    + early(1, 2)
    + early(1, 2, 3, qp=1)
    + in_order(9)
    + early(1, qp=1),
    "idle-epoch-ends": nic() + rx_open() + early(1) + NEXT + rx(13) + u16(64 * 20) + early(1),
    "one-long-message": nic() + rx_open(lasts=0) + early(255, 254) + in_order(63),
    "gbn-gap-and-duplicate": nic(GBN)
    + rx_open()
    + NEXT
    + early(1, 2)
    + NEXT
    + rx(10)
    + in_order(9),
    "forged-head-past-psn": nic() + rx_open() + forged(0, 3, 9) + forged(8, 0, 1) + in_order(20),
    "forged-last-is-taken": nic() + rx_open() + forged(8, 1, 0) + in_order(20),
    "forged-later-message": nic()
    + rx_open()
    + forged(0x20, 5, 1)
    + forged(0xE0, 9, 9)
    + in_order(9),
    "wide-window": nic(WIDE | STAGE, blocks=511)
    + rx_open()
    + far(4095, 4096, 100, 2000, 2001)
    + in_order(63)
    + VALIDATE
    + in_order(63)
    + far(4095)
    + CORRUPT
    + far(9),
    "reserve-for-others": nic(RESERVE | CHAINS, blocks=120, fallback=2)
    + rx_open()
    + rx_open(qp=1)
    + far(200, 255)
    + early(40, qp=1)
    + early(240, 255, qp=1)
    + VALIDATE,
    "irn-keeps-what-is-early": nic(cap=64, fallback=IRN)
    + rx_open()
    + early(5, 9, 63, 64, 9)
    + VALIDATE
    + in_order(40)
    + rx(10),
    "mprdma-at-the-edge": nic(cap=64, fallback=MPRDMA)
    + rx_open(AT_32_BITS)
    + early(63, 64, 1, 1)
    + NEXT
    + early(64, 62)
    + VALIDATE
    + in_order(63),
    "mprdma-synchronises": nic(STAGE, cap=64, fallback=MPRDMA)
    + rx_open()
    + early(15, 9)
    + in_order(15)
    + early(16, 16)
    + CLOSE
    + rx_open()
    + in_order(40),
    "blocks-of-8-in-two-banks": nic(SMALL_BLOCKS | TWO_BANKS, cap=128)
    + rx_open()
    + rx_open(qp=3)
    + early(100, 40, 3)
    + early(100, 40, 3, qp=3)
    + in_order(63),
}

# ---- sender ----


def host(flags=0, mtu=8, rto=10, retries=7, window=None):
    return (
        bytes([flags | (128 if window is not None else 0), mtu - 1])
        + (bytes([window]) if window is not None else b"")
        + bytes([rto, retries - 1])
    )


GATE_SENDER, BY_MESSAGE = 1, 4
CAP_0, CAP_2, CAP_16, CAP_256 = (index << 3 for index in (0, 2, 4, 6))
USE_EUNOMIA, USE_GBN, USE_IRN, USE_MPRDMA = b"\x00", b"\x01", b"\x02", b"\x03"


def life(first=psn(0), transport=USE_EUNOMIA):
    return transport + first


def post(packets, spare=0):
    return bytes([0, packets - 1, spare])


def shorts(count):
    return bytes([1, count])


def send(count):
    return bytes([4, count])


def answer(kind, reason, expected, refused):
    """Both relative to una."""
    return bytes([9 + kind, reason]) + u16(expected) + u16(refused)


def ack(moved):
    return bytes([6, moved])


def sack(*distances):
    return b"".join(bytes([7, distance]) for distance in distances)


def nack(reason, *distances):
    return b"".join(bytes([8, reason * 32 + distance]) for distance in distances)


STAMP_AND_PACE = b"\x02"
DEADLINE, REPORT = b"\x0e", b"\x0f"
CAP, MEMORY, STAGING, DEGRADED, HELD, SYNC = 1, 2, 3, 4, 5, 6

SENDER = {
    "one-message": host() + life() + post(4) + send(9) + ack(4) + REPORT,
    "psn-wraps-at-32-bits": host() + life(AT_32_BITS) + post(30) + send(20) + ack(18) + send(30),
    "psn-wraps-at-24-bits": host() + life(AT_24_BITS) + post(30) + send(20) + ack(18) + send(30),
    "gate-holds-lasts": host(GATE_SENDER | CAP_16)
    + life()
    + shorts(20)
    + send(9)
    + ack(1)
    + send(9),
    "gate-by-message": host(GATE_SENDER | BY_MESSAGE | CAP_256)
    + life()
    + post(4)
    + post(3)
    + send(9)
    + sack(4, 5)
    + send(9)
    + sack(0, 1, 2)
    + send(9)
    + ack(7),
    "gate-by-message-frees-two-lasts-at-once": host(GATE_SENDER | BY_MESSAGE | CAP_256)
    + life()
    + post(4)
    + post(3)
    + send(9)
    + ack(1)
    + sack(0, 1, 3, 4)
    + send(9)
    + ack(7),
    "gate-by-message-counts-what-ack-takes": host(GATE_SENDER | BY_MESSAGE | CAP_256)
    + life()
    + post(6)
    + send(9)
    + sack(1, 2)
    + ack(3)
    + send(9)
    + ack(2)
    + send(9),
    "sack-of-a-last-that-is-held": host(GATE_SENDER | CAP_256)
    + life()
    + post(4)
    + send(9)
    + sack(3),
    "cap-of-nothing": host(GATE_SENDER | CAP_0) + life() + shorts(5) + send(9) + ack(1) + send(9),
    "refused-for-memory": host(CAP_256)
    + life()
    + post(20)
    + send(20)
    + nack(MEMORY, 5, 6, 9)
    + send(9)
    + ack(2)
    + send(9),
    "refused-in-many-ranges": host(CAP_256)
    + life()
    + post(32)
    + send(32)
    + nack(CAP, *range(1, 30, 2))
    + ack(1)
    + send(32),
    "degraded-with-sacks": host(CAP_256)
    + life()
    + post(20)
    + send(20)
    + sack(3, 4)
    + nack(DEGRADED, 5)
    + send(20)
    + sack(7)
    + ack(20),
    "degraded-with-a-last-held": host(GATE_SENDER | CAP_256)
    + life()
    + post(4)
    + post(4)
    + send(9)
    + nack(DEGRADED, 5)
    + send(9)
    + ack(3)
    + send(9),
    "sack-of-una-is-dropped-at-the-timeout": host()
    + life()
    + post(5)
    + send(9)
    + sack(0)
    + DEADLINE,
    "timeouts-to-the-limit": host(retries=3)
    + life()
    + post(5)
    + (send(9) + sack(3, 4) + DEADLINE) * 3
    + life()
    + post(9),
    "timeouts-with-progress-between": host(retries=2)
    + life()
    + post(9)
    + (send(9) + DEADLINE + send(9) + ack(1)) * 4,
    "timeout-before-anything-could-leave": host(rto=1) + life() + post(5) + DEADLINE + send(9),
    "gbn-goes-back": host() + life(transport=USE_GBN) + post(9) + send(9) + nack(0, 2) + send(9),
    "gbn-behind-a-gate": host(GATE_SENDER) + life(transport=USE_GBN) + shorts(5) + send(9) + ack(1),
    "window-of-two-packets": host(window=8) + life() + post(9) + send(9) + ack(1) + send(9),
    "answers-for-what-never-left": host(CAP_2)
    + life()
    + post(4)
    + send(2)
    + answer(1, 0, 3, 0)
    + answer(2, 0, 0, 30)
    + answer(3, DEGRADED, 0x7FFF, 2)
    + answer(3, MEMORY, -5, -7),
    "answer-past-a-held-last": host(GATE_SENDER | CAP_256)
    + life()
    + post(4)
    + post(4)
    + send(9)
    + answer(1, 0, 5, 0)
    + ack(3)
    + send(9),
    "refused-last-of-a-sweep": host(GATE_SENDER | BY_MESSAGE | CAP_256)
    + life()
    + post(4)
    + post(3)
    + send(9)
    + DEADLINE
    + send(1)
    + sack(4, 5)
    + send(1)
    + nack(MEMORY, 6)
    + ack(3)
    + send(9)
    + ack(3)
    + send(9),
    "refused-before-it-is-awaited": host(CAP_256)
    + life()
    + post(9)
    + send(9)
    + nack(MEMORY, 3)
    + ack(2)
    + nack(MEMORY, 2)
    + ack(1)
    + send(1),
    "irn-repeats-what-is-missing": host(CAP_256)
    + life(transport=USE_IRN)
    + post(9)
    + send(9)
    + nack(HELD, 3, 5)
    + send(9)
    + ack(6)
    + DEADLINE
    + send(9),
    "mprdma-clocks-by-answers": host(CAP_256, retries=3)
    + life(AT_32_BITS, transport=USE_MPRDMA)
    + post(20)
    + send(9)
    + sack(1, 2)
    + send(9)
    + ack(3)
    + send(9)
    + STAMP_AND_PACE * 8
    + send(9),
    "mprdma-recovers": host(CAP_256, retries=9)
    + life(transport=USE_MPRDMA)
    + post(20)
    + send(30)
    + nack(CAP, 5)
    + send(9)
    + ack(1)
    + nack(CAP, 5)
    + send(9)
    + sack(9, 2)
    + send(9)
    + DEADLINE
    + send(9),
    "mprdma-synchronises": host(BY_MESSAGE | CAP_256, retries=9)
    + life(transport=USE_MPRDMA)
    + post(4)
    + post(3)
    + send(9)
    + STAMP_AND_PACE * 200
    + send(9)
    + nack(SYNC, 3)
    + send(9)
    + nack(SYNC, 3)
    + ack(3)
    + send(9),
    "two-gibibytes": host(mtu=1)
    + life()
    + bytes([0, 250])
    + send(200)
    + nack(STAGING, 9)
    + DEADLINE,
    "empty-and-too-long": host()
    + life()
    + bytes([0, 251])
    + u32(0)
    + bytes([0, 251])
    + u32(1 << 31),
}

# ---- ordering layer ----


def pool(flags=0, blocks=256, cap=256, epoch=16):
    return bytes([flags]) + u16(blocks) + bytes([cap - 1, epoch])


def layer(operation, *arguments, qp=0):
    return bytes([qp + 8 * operation, *arguments])


def layer_open(first=psn(0), qp=0):
    return layer(0, qp=qp) + first


def hold(*distances, last=False, qp=0):
    return b"".join(layer(5 if last else 4, distance, qp=qp) for distance in distances)


def advance(count, qp=0):
    return layer(8, count, qp=qp)


EVERY_SECOND, MANY_LASTS = 64, 128


def run(first, shape, qp=0):
    """So many PSNs in a row, from `first` ahead on; the flags say more."""
    return layer(9, first - 1, shape, qp=qp)


def layer_sweep(microseconds):
    return layer(13) + u16(64 * microseconds)


LOSE, CHECK, LAYER_CLOSE = layer(12), layer(14), layer(15)

REORDER = {
    "ring-wraps": pool() + layer_open() + (hold(9, 3) + advance(10)) * 8 + CHECK,
    "linear-part-becomes-the-ring": pool()
    + layer_open()
    + hold(5, 40)
    + advance(4)
    + hold(100, 200)
    + CHECK
    + advance(60)
    + CHECK
    + advance(60)
    + CHECK,
    "linear-part-is-used-up": pool() + layer_open() + hold(1) + run(16, 16) + advance(15) + CHECK,
    "ring-block-of-old-and-new": pool()
    + layer_open()
    + hold(9)
    + advance(5)
    + hold(20, 30)
    + advance(12)
    + CHECK
    + advance(9)
    + CHECK,
    "out-of-block-ids": pool()
    + layer_open()
    + hold(100)
    + advance(20)
    + hold(200)
    + run(140, 30)
    + advance(61)
    + hold(250)
    + CHECK
    + advance(63)
    + CHECK,
    "last-plane": pool() + layer_open() + hold(3, 19, 40, 200, last=True) + advance(63) + CHECK,
    "last-at-the-far-end": pool() + layer_open() + run(1, 63) + advance(1) + CHECK,
    "every-second": pool()
    + layer_open(AT_32_BITS)
    + run(1, EVERY_SECOND | 63)
    + CHECK
    + advance(63),
    "pool-exhausted": pool(blocks=50)
    + layer_open()
    + layer_open(qp=1)
    + layer_open(qp=2)
    + hold(1)
    + hold(1, 17, qp=1)
    + hold(1, qp=2)
    + CHECK,
    "idle-metadata-is-taken-early": pool(blocks=26)
    + layer_open()
    + layer_open(qp=1)
    + hold(1)
    + advance(1)
    + hold(20, qp=1)
    + CHECK,
    "idle-metadata-makes-room-to-grow": pool(blocks=56)
    + layer_open()
    + layer_open(qp=1)
    + hold(1)
    + hold(1, qp=1)
    + advance(1, qp=1)
    + hold(250)
    + CHECK,
    "own-metadata-is-not-taken": pool(blocks=56)
    + layer_open()
    + layer_open(qp=1)
    + hold(1)
    + advance(1)
    + hold(1, qp=1)
    + advance(1, qp=1)
    + hold(250)
    + CHECK,
    "no-room-for-a-plane": pool(blocks=30)
    + layer_open()
    + hold(1, 2, last=True)
    + hold(90)
    + CHECK,
    "idle-epoch": pool() + layer_open() + hold(1) + advance(1) + layer_sweep(8) + layer_sweep(9),
    "no-epoch": pool(epoch=0) + layer_open() + hold(1) + advance(1) + layer_sweep(1) + CHECK,
    "lost-and-found": pool(blocks=60)
    + layer_open()
    + hold(9, 30)
    + hold(31, 40, last=True)
    + LOSE
    + hold(1)
    + CHECK
    + hold(1, 2),
    "lost-while-idle": pool(blocks=90)
    + layer_open()
    + hold(1)
    + advance(1)
    + layer_open(qp=1)
    + LOSE
    + hold(1)
    + hold(1, qp=1)
    + advance(1, qp=1)
    + layer_sweep(99)
    + advance(1)
    + CHECK,
    "closed-and-opened": pool() + layer_open() + hold(9) + LAYER_CLOSE + layer_open() + advance(20),
    "runs-ahead": pool() + layer_open() + hold(1) + advance(1) + layer(10) + u32(-5) + hold(9, 3),
    "no-block": pool(blocks=0) + layer_open() + hold(1, 255) + advance(9),
    "cap-of-one": pool(cap=1) + layer_open() + hold(1, 255, 0),
    "blocks-of-8": pool(1, cap=128) + layer_open() + run(1, MANY_LASTS | 60) + advance(63) + CHECK,
    "metadata-in-fragments": pool(8, blocks=128)
    + b"".join(layer_open(qp=qp) + hold(1, qp=qp) for qp in range(4))
    + layer(15, qp=1)
    + hold(255)
    + hold(255, qp=2)
    + LAYER_CLOSE
    + b"".join(layer_open(qp=qp) + hold(1, qp=qp) for qp in (5, 6))
    + hold(5, 30, qp=6)
    + CHECK
    + advance(4, qp=6)
    + CHECK
    + layer(12, qp=6)
    + hold(1, qp=6)
    + CHECK,
    "reserve-for-others": pool(16 | 8, blocks=60)
    + layer_open()
    + layer_open(qp=1)
    + hold(1, 200, 255)
    + hold(9, 30, qp=1)
    + CHECK,
    "four-banks": pool(6, blocks=200)
    + b"".join(layer_open(qp=qp) + hold(30, 3, qp=qp) for qp in range(8))
    + CHECK,
}


def seeds():
    """Path below the corpus folder -> bytes."""
    found = {}
    for target, cases in (("receiver", RECEIVER), ("sender", SENDER), ("reorder", REORDER)):
        for name, data in cases.items():
            found[os.path.join(target, "seed-" + name)] = data
    return found


def main():
    for path, data in seeds().items():
        os.makedirs(os.path.dirname(os.path.join(CORPUS, path)), exist_ok=True)
        with open(os.path.join(CORPUS, path), "wb") as file:
            file.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
