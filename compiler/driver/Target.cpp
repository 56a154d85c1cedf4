//===- Target.cpp - What an executable runs on ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compile.h"
#include "frontends/FrontEnd.h"

using namespace hocket;

StatusOr<std::string> hocket::targetOf(const CompileRequest &request) {
  if (request.target == "cpu" || request.target == "cuda")
    return request.target;
  if (!request.target.empty())
    return invalidArgument("--target " + request.target +
                           ": the targets are cpu and cuda");
  if (request.input.ends_with(".mlir"))
    return std::string("cpu");
  spec::LoadOptions options = request.spec;
  if (options.planPath == "auto") // A plan that is yet to be searched.
    options.planPath.clear();
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec loaded,
                          loadSpecification(request.input, options));
  bool isCuda = loaded.spec.cluster().device() == spec::Cluster::CUDA;
  return std::string(isCuda ? "cuda" : "cpu");
}
