# Compiler flags and third-party packages, in one place.

# ccache takes sources with precompiled headers if it is told that these are
# read for what they hold.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Werror=return-type
                    -Werror=switch -fno-omit-frame-pointer
                    -ffp-contract=off)
add_link_options(-fuse-ld=lld -Wl,--gc-sections)
# What asserts, checks and debug information say of a source is its path from the
# root: nothing that is installed knows where it was built.
add_compile_options("-ffile-prefix-map=${CMAKE_BINARY_DIR}/=build/"
                    "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})

option(HOCKET_SANITIZE "Build with AddressSanitizer and UBSan" OFF)
if(HOCKET_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
                      -fno-sanitize=vptr)
  add_link_options(-fsanitize=address,undefined)
endif()

option(HOCKET_FUZZ "Build the program that damages files for every parser" OFF)
if(HOCKET_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# A version request is refused by Debian's package, so none is made; the
# dialects are written against 19.1.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
find_package(LLD REQUIRED CONFIG HINTS ${LLVM_LIBRARY_DIR}/cmake/lld)

find_package(Protobuf REQUIRED)
find_package(simdjson REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc)
find_package(Threads REQUIRED)

# What compresses training data, texts and images. LLVM's package may have found
# zstd already.
find_package(ZLIB)
find_package(PNG)
find_package(JPEG)
find_package(LibLZMA)
if(NOT TARGET zstd::libzstd_shared)
  find_package(zstd QUIET CONFIG)
endif()
foreach(library ZLIB::ZLIB=zlib1g-dev LibLZMA::LibLZMA=liblzma-dev
                zstd::libzstd_shared=libzstd-dev PNG::PNG=libpng-dev
                JPEG::JPEG=libjpeg62-turbo-dev)
  string(REPLACE "=" ";" library ${library})
  list(POP_FRONT library target package)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "${target} is missing; `make packages` installs "
                        "${package}, which has it")
  endif()
endforeach()
