# How libraries, dialects, tools and tests of Hocket are declared.

# What compiles a third faster, for code that runs once a command: registering
# ops and options, parsing them, and saying what is wrong with them.
set(HOCKET_RUNS_ONCE $<$<CONFIG:Release>:-O1>)

# What compiles in less than half the time, for sources of tests, which call what
# they test and compare.
set(HOCKET_COMPARES $<$<CONFIG:Release>:-O0>)

# Whether several sources of a library are compiled as one file, which takes half
# the processor time: most of a compilation goes into what its headers declare.
# Sources of one library therefore give no two things one name at their outermost
# level. Whoever edits sources compiles faster without (the preset dev).
option(HOCKET_UNITY "Compile several sources of a library as one file" OFF)
set(HOCKET_UNITY_SOURCES 8)

# hocket_unite(TARGET)
function(hocket_unite target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${HOCKET_UNITY} UNITY_BUILD_BATCH_SIZE ${HOCKET_UNITY_SOURCES})
endfunction()

# hocket_library(NAME SOURCES a.cpp ... [DEPS lib ...])
#   A static library that knows no MLIR.
function(hocket_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  hocket_unite(${name})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  if("CLI11::CLI11" IN_LIST ARG_DEPS)
    hocket_use_precompiled(${name} command_line)
    target_compile_options(${name} PRIVATE ${HOCKET_RUNS_ONCE})
  else()
    hocket_use_precompiled(${name} plain)
  endif()
endfunction()

# hocket_use_mlir(NAME PUBLIC|PRIVATE)
#   Lets the sources of a target include MLIR, as Debian's MLIR was compiled.
function(hocket_use_mlir name scope)
  target_include_directories(${name} SYSTEM ${scope} ${MLIR_INCLUDE_DIRS}
                             ${LLVM_INCLUDE_DIRS})
  if(NOT LLVM_ENABLE_RTTI)
    target_compile_options(${name} PRIVATE -fno-rtti)
  endif()
  target_compile_options(${name} PRIVATE
    "SHELL:-include ${CMAKE_SOURCE_DIR}/compiler/cmake/ConstantTypeName.h")
  if(NOT LLVM_ENABLE_ASSERTIONS)
    target_compile_options(${name} PRIVATE
      "SHELL:-include ${CMAKE_SOURCE_DIR}/compiler/cmake/InstalledStatistic.h")
  endif()
endfunction()

# hocket_mlir_library(NAME SOURCES a.cpp ... [DEPS lib ...] [GENERATED target ...])
#   A static library over MLIR. GENERATED names the TableGen targets that must
#   run before its sources compile.
function(hocket_mlir_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;GENERATED" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  hocket_unite(${name})
  hocket_use_mlir(${name} PUBLIC)
  hocket_use_precompiled(${name} mlir)
  target_compile_definitions(${name} PUBLIC ${LLVM_DEFINITIONS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} MLIR LLVM)
  if(ARG_GENERATED)
    add_dependencies(${name} ${ARG_GENERATED})
  endif()
endfunction()

# hocket_tablegen(TARGET FILE.td OUT1 "-gen-..." [OUT2 "-gen-..."] ...)
#   Runs mlir-tblgen on FILE.td once per output.
function(hocket_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest out flags)
    separate_arguments(flags)
    mlir_tablegen(${out} ${flags} EXTRA_INCLUDES ${CMAKE_SOURCE_DIR}
                  ${MLIR_INCLUDE_DIRS})
  endwhile()
  add_public_tablegen_target(${target})
  set_property(GLOBAL APPEND PROPERTY HOCKET_GENERATED ${target})
  add_dependencies(hocket_precompiled_mlir ${target})
  add_dependencies(hocket_precompiled_mlir_test ${target})
endfunction()

# hocket_test(NAME [MLIR] [COMPUTES] SOURCES a.cpp ... [DEPS lib ...] [SHARDS n]
#             [ONE_CORE] [COST s])
#   A GoogleTest program under <build>/test/bin, run by `make test`. Its sources
#   are compiled without optimisation unless it COMPUTES; what computes for
#   several programs is a library. A long one is run as `n` processes, each with
#   its share of the tests. ONE_CORE keeps all its threads on one core, one for
#   each rank: ranks that wake each other on another core cost more than what they
#   compute. COST is how many seconds one of them takes, roughly: the longest
#   start first.
function(hocket_test name)
  cmake_parse_arguments(ARG "MLIR;COMPUTES;ONE_CORE" "SHARDS;COST" "SOURCES;DEPS"
                        ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  hocket_unite(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                        ${CMAKE_BINARY_DIR}/test/bin)
  target_compile_definitions(${name} PRIVATE
    HOCKET_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  set(headers plain)
  if(ARG_MLIR)
    hocket_use_mlir(${name} PRIVATE)
    set(headers mlir)
  endif()
  if(ARG_COMPUTES)
    hocket_use_precompiled(${name} ${headers})
  else()
    target_compile_options(${name} PRIVATE ${HOCKET_COMPARES})
    # Before all objects: the linker takes the first of several definitions.
    target_link_options(${name} PRIVATE $<TARGET_OBJECTS:hocket_test_strings>)
    add_dependencies(${name} hocket_test_strings)
    hocket_use_precompiled(${name} ${headers}_test)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest
                        GTest::gtest_main GTest::gmock)
  set(threads)
  if(ARG_ONE_CORE)
    set(threads "HOCKET_NUM_THREADS=1")
  endif()
  if(NOT ARG_SHARDS)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${threads}")
    set(tests ${name})
  else()
    set(tests)
    math(EXPR last "${ARG_SHARDS} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${name}.${shard} COMMAND ${name})
      set_tests_properties(${name}.${shard} PROPERTIES ENVIRONMENT
        "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard};${threads}")
      list(APPEND tests ${name}.${shard})
    endforeach()
  endif()
  if(ARG_ONE_CORE)
    set_tests_properties(${tests} PROPERTIES PROCESSORS 1 PROCESSOR_AFFINITY ON)
  endif()
  if(ARG_COST)
    set_tests_properties(${tests} PROPERTIES COST ${ARG_COST})
  endif()
endfunction()

# hocket_tool(NAME SOURCES main.cpp DEPS lib ...)
#   A program under <build>/bin.
function(hocket_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  hocket_unite(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()

# hocket_mlir_tool(NAME SOURCES main.cpp DEPS lib ...)
#   A program over MLIR under <build>/bin.
function(hocket_mlir_tool name)
  hocket_tool(${name} ${ARGN})
  hocket_use_mlir(${name} PRIVATE)
  hocket_use_precompiled(${name} mlir)
endfunction()

# hocket_protobuf(TARGET FILE.proto ...)
#   Compiles a schema into a static library of its messages; the header is
#   included by its path from the repository root.
function(hocket_protobuf target)
  set(generated)
  foreach(proto ${ARGN})
    file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR}
         ${CMAKE_CURRENT_SOURCE_DIR}/${proto})
    string(REGEX REPLACE "\\.proto$" "" stem ${relative})
    set(out ${CMAKE_BINARY_DIR}/${stem}.pb.cc ${CMAKE_BINARY_DIR}/${stem}.pb.h)
    add_custom_command(OUTPUT ${out}
      COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR}
              --cpp_out=${CMAKE_BINARY_DIR} ${relative}
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
      DEPENDS ${ARGN} VERBATIM)
    list(APPEND generated ${out})
  endforeach()
  add_custom_target(${target}_generated DEPENDS ${generated})
  set_property(GLOBAL APPEND PROPERTY HOCKET_GENERATED ${target}_generated)
  add_library(${target} STATIC ${generated})
  add_dependencies(${target} ${target}_generated)
  target_compile_options(${target} PRIVATE -w)
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf Threads::Threads)
endfunction()

# hocket_targets_below(OUT FOLDER ...)
#   What is built in folders and in those below them.
function(hocket_targets_below out)
  set(all)
  foreach(folder ${ARGN})
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target ${targets})
      get_target_property(type ${target} TYPE)
      if(NOT type STREQUAL UTILITY)
        list(APPEND all ${target})
      endif()
    endforeach()
    get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    if(folders)
      hocket_targets_below(below ${folders})
      list(APPEND all ${below})
    endif()
  endforeach()
  set(${out} ${all} PARENT_SCOPE)
endfunction()
