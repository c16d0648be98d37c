# SPDX-License-Identifier: GPL-2.0-only
# As contrib/eunomia of an ns-3 source tree.

enable_language(C)
find_package(GSL REQUIRED)
find_package(ZLIB REQUIRED)

add_definitions(-DEUNOMIA_VERSION="${EUNOMIA_VERSION}")
include_directories(${module_include_dirs})

build_lib(
  LIBNAME eunomia
  SOURCE_FILES ${core_sources} ${module_sources}
  HEADER_FILES ${module_headers}
  LIBRARIES_TO_LINK ${libcore} ${libnetwork} GSL::gsl ZLIB::ZLIB
  TEST_SOURCES ${module_tests}
)
target_include_directories(${libeunomia} PUBLIC ${module_include_dirs})

build_lib_example(
  NAME eunomia-sim
  SOURCE_FILES examples/eunomia-sim.cc
  LIBRARIES_TO_LINK ${libeunomia}
)
