// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-combination.h"

namespace ns3 {

std::string EunomiaCombinationProblem(const eun_balancer &lb, const eun_transport &,
                                      const eun_cc_ops &cc)
{
    if (lb.delays && cc.measures_delay) {
        return std::string(lb.name) +
               " holds packets in switches, so round trips say nothing about "
               "queues; " +
               cc.name + " steers by them";
    }
    return "";
}

} // namespace ns3
