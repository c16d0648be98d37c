# SPDX-License-Identifier: GPL-2.0-only
# Against an installed ns-3, such as Debian's libns3-dev.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(EUNOMIA_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
set(EUNOMIA_ASAN_DIR "" CACHE PATH "Sanitizer build whose tests ctest runs, too")

# No contraction and no fast-math: the same seed gives the same bytes in every build.
add_compile_options(-Wall -Wextra -Werror -ffp-contract=off)
# In C++ a C function may share the name of a struct, which -Wshadow takes for a mistake.
add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wshadow>)
if(EUNOMIA_SANITIZE)
  # GCC's instrumentation makes its own uninitialised-use warnings unreliable.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g -O1 -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=address,undefined)
else()
  set(CMAKE_C_FLAGS_RELEASE "-O3 -DNDEBUG")
  set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
endif()

find_package(ns3 REQUIRED)
find_package(GSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

add_library(eunomia-core STATIC ${core_sources})
target_include_directories(eunomia-core PUBLIC model)

add_library(eunomia STATIC ${module_sources})
target_include_directories(eunomia PUBLIC ${module_include_dirs})
target_compile_definitions(eunomia PUBLIC EUNOMIA_VERSION="${EUNOMIA_VERSION}")
target_link_libraries(eunomia PUBLIC eunomia-core ns3::libcore ns3::libnetwork GSL::gsl
                                     ZLIB::ZLIB)

add_executable(eunomia-sim examples/eunomia-sim.cc)
target_link_libraries(eunomia-sim eunomia)
add_executable(eunomia-first examples/eunomia-first.cc)
target_link_libraries(eunomia-first eunomia)
add_executable(eunomia-memory examples/eunomia-memory.cc)
target_link_libraries(eunomia-memory eunomia)

# Tests and benchmarks of the core name its headers without the way to them.
file(GLOB core_rooms LIST_DIRECTORIES true ${CMAKE_CURRENT_SOURCE_DIR}/model/core/*)

add_executable(bench-reorder bench/bench-reorder.c)
target_include_directories(bench-reorder PRIVATE ${core_rooms})
target_link_libraries(bench-reorder eunomia-core)
add_custom_target(bench DEPENDS bench-reorder eunomia-sim)

enable_testing()

# One executable a test file of the core.
file(GLOB core_tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} test/core/*/*-test.c)
foreach(source IN LISTS core_tests)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${core_rooms})
  target_link_libraries(${name} eunomia-core PkgConfig::cmocka m)
  add_test(NAME core/${name} COMMAND ${name})
endforeach()

# This one counts stores: its own functions take the calls of the instrumentation.
set_source_files_properties(
  test/core/reorder/reorder-crash-test.c PROPERTIES COMPILE_OPTIONS
  "-O1;-fno-sanitize=all;-fsanitize=thread")

# Fuzz targets of the core: run on their stored corpus, or, with EUNOMIA_FUZZ, real fuzzers.
option(EUNOMIA_FUZZ "Build fuzz-receiver and so on with libFuzzer, which takes clang" OFF)
set(fuzz_options -g -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
if(EUNOMIA_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "EUNOMIA_FUZZ takes clang: -DCMAKE_C_COMPILER=clang")
  endif()
  target_compile_options(eunomia-core PRIVATE ${fuzz_options})
endif()
foreach(target receiver sender reorder)
  if(EUNOMIA_FUZZ)
    set(name fuzz-${target})
    add_executable(${name} fuzz/fuzz-${target}.c)
    target_compile_options(${name} PRIVATE ${fuzz_options})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  else()
    set(name replay-${target})
    add_executable(${name} fuzz/fuzz-${target}.c fuzz/replay.c)
    add_test(NAME fuzz/${target}
             COMMAND ${name} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${target})
  endif()
  target_include_directories(${name} PRIVATE ${core_rooms} test/core)
  target_link_libraries(${name} eunomia-core PkgConfig::cmocka)
endforeach()

# The module's suites, one ctest entry each.
add_executable(eunomia-test-runner test/test-runner.cc ${module_tests})
target_include_directories(eunomia-test-runner PRIVATE test/helper)
target_link_libraries(eunomia-test-runner eunomia)
foreach(source IN LISTS module_tests)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "-test$" "" suite ${name})
  add_test(NAME module/${suite}
           COMMAND eunomia-test-runner --suite=${suite} --verbose --stop-on-failure
           WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
endforeach()

add_test(NAME tools COMMAND Python3::Interpreter -m pytest -q -p no:cacheprovider test/tools
         WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})

add_test(NAME examples/eunomia-first COMMAND eunomia-first)
set_tests_properties(examples/eunomia-first PROPERTIES
                     PASS_REGULAR_EXPRESSION "host 0: 10000 bytes are acknowledged")

set(sanitized_sim "")
if(EUNOMIA_ASAN_DIR)
  set(sanitized_sim ${EUNOMIA_ASAN_DIR}/eunomia-sim)
  add_test(NAME sanitized COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${EUNOMIA_ASAN_DIR}
                                  --output-on-failure -E "^(tools|program)$")
  set_tests_properties(sanitized PROPERTIES TIMEOUT 3000)
endif()

add_test(NAME program
         COMMAND Python3::Interpreter -m pytest -q -p no:cacheprovider test/examples
         WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set(programs EUNOMIA_SIM=$<TARGET_FILE:eunomia-sim> EUNOMIA_SIM_ASAN=${sanitized_sim}
             EUNOMIA_MEMORY=$<TARGET_FILE:eunomia-memory>)
set_tests_properties(program PROPERTIES ENVIRONMENT "${programs}")
