// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-combination.h"

namespace ns3 {

EunomiaClash EunomiaFindClash(const eun_balancer &lb, const eun_transport &transport,
                              const eun_cc_ops &cc)
{
    if (transport.own_congestion_control && &cc != &eun_cc_none) {
        return {"--cc", std::string(transport.name) +
                            " has a congestion window of its own and takes none, not " + cc.name};
    }
    if (transport.picks_paths && !lb.follows_entropy) {
        return {"--lb", std::string(transport.name) + " picks paths by UDP source port, which " +
                            lb.name + " does not follow: ecmp"};
    }
    if (lb.delays && cc.measures_delay) {
        return {"--cc", std::string(lb.name) +
                            " holds packets in switches, so round trips say nothing about "
                            "queues; " +
                            cc.name + " steers by them"};
    }
    return {};
}

} // namespace ns3
