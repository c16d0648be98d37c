// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_COMBINATION_H
#define EUNOMIA_COMBINATION_H

#include "core/congestion/congestion.h"
#include "core/switch/balancer.h"
#include "core/transport/transport.h"

#include <string>

namespace ns3 {

/** Why options do not go together. */
struct EunomiaClash {
    std::string option; /**< the one to change, such as "--cc" */
    std::string reason; /**< a sentence; "": they do */
};

/**
 * Do a load balancer, a transport and a congestion control work together? This looks at what they
 * say of themselves, not at their names: a new one needs no line here.
 */
EunomiaClash EunomiaFindClash(const eun_balancer &lb, const eun_transport &transport,
                              const eun_cc_ops &cc);

} // namespace ns3

#endif
