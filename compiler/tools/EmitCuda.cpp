//===- EmitCuda.cpp - hocket compile --emit=cuda --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/EmitCuda.h"

#include "base/File.h"
#include "compiler/tools/MachineCode.h"
#include "kernels/cuda/Sources.h"

#include <filesystem>
#include <map>

using namespace hocket;
namespace fs = std::filesystem;

static Status makeFolder(const fs::path &folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  return error ? invalidArgument("cannot make the folder " + folder.string() +
                                 ": " + error.message())
               : okStatus();
}

Status hocket::emitCuda(const CudaText &text,
                        const std::vector<std::string> &architectures,
                        const std::string &output) {
  std::map<std::string, std::string> files = {{"kernels.cu", text.kernels},
                                              {"library.cu", text.library}};
  nvrtc::Source fused{"kernels.cu", text.kernels, {}},
      library{"library.cu", text.library, {}};
  for (const kernels::CudaHeader &header : kernels::cudaHeaders()) {
    for (nvrtc::Source *source : {&fused, &library})
      source->headers.push_back({header.name, header.text});
    files[header.name] = header.text;
  }
  HOCKET_ASSIGN_OR_RETURN(std::vector<std::string> cubins,
                          machineCode({fused, library}, architectures));
  auto cubin = cubins.begin();
  for (const char *part : {"kernels.", "library."})
    for (const std::string &arch : architectures)
      files[part + arch + ".cubin"] = std::move(*cubin++);
  for (const auto &[name, content] : files) {
    fs::path path = fs::path(output) / name;
    HOCKET_RETURN_IF_ERROR(makeFolder(path.parent_path()));
    HOCKET_RETURN_IF_ERROR(writeFileAtomically(path.string(), content));
  }
  return okStatus();
}
