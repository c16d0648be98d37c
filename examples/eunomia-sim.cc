// SPDX-License-Identifier: GPL-2.0-only
/** One simulation of an RDMA fabric; see --help. */
#include "eunomia-experiment.h"

#include "ns3/nstime.h"

#include <cstdio>

using namespace ns3;

int main(int argc, char *argv[])
{
    Time::SetResolution(Time::PS);
    try {
        EunomiaOptions options;
        options.Parse(argc, argv);
        return EunomiaExperiment(options).Run();
    } catch (const EunomiaInputError &error) {
        std::fprintf(stderr, "eunomia-sim: %s\n", error.what());
        return EunomiaExperiment::BAD_INPUT;
    }
}
