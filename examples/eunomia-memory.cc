// SPDX-License-Identifier: GPL-2.0-only
/** What packet reordering costs in memory and header bytes; see --help. */
#include "eunomia-input-error.h"
#include "eunomia-memory-model.h"

#include "ns3/nstime.h"

#include <cstdio>
#include <new>

using namespace ns3;

int main(int argc, char *argv[])
{
    Time::SetResolution(Time::PS); // for the microbenchmark, which is simulated
    try {
        const auto options = EunomiaMemoryOptions::Parse({argv + 1, argv + argc});
        const std::string text = options.help   ? EunomiaMemoryHelp()
                                 : options.json ? EunomiaMemoryJson(options)
                                                : EunomiaMemoryTables(options);
        std::fputs(text.c_str(), stdout);
        return 0;
    } catch (const EunomiaInputError &error) {
        std::fprintf(stderr, "eunomia-memory: %s\n", error.what());
        return 2;
    } catch (const std::bad_alloc &) {
        std::fprintf(stderr, "eunomia-memory: --qps: not enough memory for so many\n");
        return 2;
    }
}
