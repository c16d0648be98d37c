// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-event.h"

#include "ns3/abort.h"

namespace ns3 {

void EunomiaRequirePicoseconds()
{
    NS_ABORT_MSG_UNLESS(Time::GetResolution() == Time::PS,
                        "Eunomia counts picoseconds: call Time::SetResolution(Time::PS) first "
                        "in main()");
}

} // namespace ns3
