// SPDX-License-Identifier: GPL-2.0-only
/** Runs the module's ns-3 test suites where no ns-3 source tree does. */
#include "ns3/nstime.h"
#include "ns3/test.h"

int main(int argc, char *argv[])
{
    ns3::Time::SetResolution(ns3::Time::PS);
    return ns3::TestRunner::Run(argc, argv);
}
