/* SPDX-License-Identifier: GPL-2.0-only */
#include "transport.h"

#include <stddef.h>
#include <string.h>

const struct eun_transport *const eun_transports[] = {&eun_transport_eunomia,
                                                      &eun_transport_gbn,
                                                      &eun_transport_irn,
                                                      &eun_transport_mprdma,
                                                      &eun_transport_ddp,
                                                      &eun_transport_ddp_gbn,
                                                      NULL};

const struct eun_transport *eun_transport_find(const char *name)
{
    for (size_t i = 0; eun_transports[i]; i++)
        if (strcmp(eun_transports[i]->name, name) == 0)
            return eun_transports[i];
    return NULL;
}
