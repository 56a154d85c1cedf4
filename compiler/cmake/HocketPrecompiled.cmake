# Headers that are parsed once: more than half of each compilation is reading
# the same ones again. Five sets, each compiled by a target of its own and
# reused by every target of its kind; a target takes one set.
#
# Sources still include what they use: clang-tidy reads them without precompiled
# headers, and -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without them.

# Position-independent code of programs is compiled as that of libraries is, or
# the two could not share a precompiled header.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})

# hocket_precompiled(TARGET HEADER [lib ...])
#   Compiles a header of the folder `precompiled` for others to reuse, with what
#   the libraries whose headers it reads define. No time is written into the
#   result, so that equal input gives equal bytes, which ccache relies on.
function(hocket_precompiled target header)
  set(source ${CMAKE_BINARY_DIR}/precompiled/${header}.cpp)
  file(CONFIGURE OUTPUT ${source}
       CONTENT "// Compiled for its precompiled header alone.\n")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
  target_compile_options(${target} PRIVATE
    "SHELL:-Xclang -fno-pch-timestamp")
  target_link_libraries(${target} PRIVATE ${ARGN})
  target_precompile_headers(${target} PRIVATE
    ${CMAKE_SOURCE_DIR}/compiler/cmake/precompiled/${header}.h)
endfunction()

# hocket_precompiled_mlir(TARGET HEADER [lib ...])
#   The same over MLIR and the dialects, whose generated headers come first:
#   hocket_tablegen() makes every one of them a dependency.
function(hocket_precompiled_mlir target header)
  hocket_precompiled(${target} ${header} ${ARGN})
  hocket_use_mlir(${target} PRIVATE)
  target_compile_definitions(${target} PRIVATE ${LLVM_DEFINITIONS})
endfunction()

set(test_headers GTest::gtest simdjson::simdjson)
hocket_precompiled(hocket_precompiled_plain Plain simdjson::simdjson)
hocket_precompiled(hocket_precompiled_command_line CommandLine
                   simdjson::simdjson)
hocket_precompiled(hocket_precompiled_plain_test PlainTest ${test_headers})
hocket_precompiled_mlir(hocket_precompiled_mlir Mlir)
hocket_precompiled_mlir(hocket_precompiled_mlir_test MlirTest ${test_headers})
foreach(kind plain_test mlir_test)
  target_compile_options(hocket_precompiled_${kind} PRIVATE ${HOCKET_COMPARES})
endforeach()

# hocket_use_precompiled(TARGET KIND)
#   KIND: plain, command_line, plain_test, mlir or mlir_test. A folder whose
#   sources are compiled for other instruction sets sets HOCKET_PRECOMPILE to OFF.
set(HOCKET_PRECOMPILE ON)
function(hocket_use_precompiled target kind)
  if(HOCKET_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM hocket_precompiled_${kind})
  endif()
endfunction()
