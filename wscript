# -*- mode: python -*-
# SPDX-License-Identifier: GPL-2.0-only
"""The module in an ns-3 that builds with waf (up to 3.35), as contrib/eunomia."""

import re

# Headers of core/ are named by their path below model/, the others by their file name.
INCLUDES = ["model", "model/fabric", "model/nic", "model/sim", "helper"]


def configure(conf):
    for library, header in (("gsl", "gsl/gsl_cdf.h"), ("z", "zlib.h")):
        conf.check(lib=library, header_name=header, uselib_store="EUNOMIA", mandatory=True)
    conf.check(lib="gslcblas", uselib_store="EUNOMIA", mandatory=True)
    conf.check(lib="m", uselib_store="EUNOMIA", mandatory=True)


def version(bld):
    """As CMakeLists.txt says it."""
    text = bld.path.find_node("CMakeLists.txt").read()
    return re.search(r"set\(EUNOMIA_VERSION ([0-9.]+)\)", text).group(1)


def build(bld):
    module = bld.create_ns3_module("eunomia", ["core", "network"])
    module.features += " c"
    module.source = bld.path.ant_glob(["model/**/*.c", "model/**/*.cc", "helper/*.cc"])
    module.includes = INCLUDES
    module.defines = ['EUNOMIA_VERSION="%s"' % version(bld)]
    module.use.append("EUNOMIA")
    # Equal bytes from every build: no fused multiply-add, whatever the processor offers.
    module.env.append_value("CFLAGS", ["-std=c11", "-fPIC", "-ffp-contract=off"])
    module.env.append_value("CXXFLAGS", ["-std=c++17", "-ffp-contract=off"])

    headers = bld(features="ns3header")
    headers.module = "eunomia"
    # The C core stays behind these; its short file names would hide those of ns-3.
    headers.source = [
        header.path_from(bld.path)
        for header in bld.path.ant_glob(["model/**/eunomia-*.h", "helper/eunomia-*.h"])
    ]

    if bld.env.ENABLE_EXAMPLES:
        bld.recurse("examples")
