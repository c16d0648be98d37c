/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_TRANSPORT_EVENT_QUEUE_H
#define EUNOMIA_TRANSPORT_EVENT_QUEUE_H

/** A virtual clock: what is to happen, earliest first, and in order of entry at the same time. */

#include "test-support.h"

enum event_kind {
    EVENT_DATA,
    EVENT_SERVED,
    EVENT_FEEDBACK,
    EVENT_SEND,
    EVENT_TIMER,
    EVENT_PACE,
    EVENT_POST
};

struct event {
    int64_t at;
    uint64_t order; /**< set by event_push() */
    enum event_kind kind;
    uint32_t qp;
    uint32_t generation; /**< life of the QP */
    union {
        struct eun_data data;
        struct eun_feedback feedback;
    } u;
};

/** A binary heap. All zero: empty. */
struct event_queue {
    struct event *heap;
    size_t count;
    size_t room;
    uint64_t order;
};

static inline bool event_earlier(const struct event *a, const struct event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static inline void event_push(struct event_queue *queue, struct event event)
{
    if (queue->count == queue->room) {
        queue->room = queue->room ? queue->room * 2 : 256;
        queue->heap = realloc(queue->heap, queue->room * sizeof *queue->heap);
        assert_non_null(queue->heap);
    }
    event.order = queue->order++;
    size_t i = queue->count++;
    for (; i > 0 && event_earlier(&event, &queue->heap[(i - 1) / 2]); i = (i - 1) / 2)
        queue->heap[i] = queue->heap[(i - 1) / 2];
    queue->heap[i] = event;
}

/** Takes the earliest out; there must be one. */
static inline struct event event_pop(struct event_queue *queue)
{
    const struct event top = queue->heap[0];
    const struct event moved = queue->heap[--queue->count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= queue->count)
            break;
        if (child + 1 < queue->count && event_earlier(&queue->heap[child + 1], &queue->heap[child]))
            child++;
        if (!event_earlier(&queue->heap[child], &moved))
            break;
        queue->heap[i] = queue->heap[child];
        i = child;
    }
    queue->heap[i] = moved;
    return top;
}

#endif
