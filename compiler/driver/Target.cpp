//===- Target.cpp - What an executable runs on ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compile.h"
#include "frontends/FrontEnd.h"

using namespace hocket;

Status hocket::checkTarget(const spec::Spec &spec, const std::string &place,
                           const std::string &target) {
  bool isCuda = spec.cluster().device() == spec::Cluster::CUDA;
  if (!spec.cluster().has_device() || isCuda == (target == "cuda"))
    return okStatus();
  return invalidArgument(
      place + ": S19: cluster.device is " + (isCuda ? "CUDA" : "CPU") +
      ", but the target is " + target + "; write --target " +
      (isCuda ? "cuda" : "cpu") + ", or another cluster.device");
}

StatusOr<std::string> hocket::targetOf(const CompileRequest &request) {
  std::string target = request.target.empty() ? "cpu" : request.target;
  if (target != "cpu" && target != "cuda")
    return invalidArgument("--target " + target +
                           ": the targets are cpu and cuda");
  if (request.input.ends_with(".mlir"))
    return target;
  spec::LoadOptions options = request.spec;
  if (options.planPath == "auto") // A plan that is yet to be searched.
    options.planPath.clear();
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec loaded,
                          loadSpecification(request.input, options));
  if (request.target.empty() &&
      loaded.spec.cluster().device() == spec::Cluster::CUDA)
    return std::string("cuda");
  HOCKET_RETURN_IF_ERROR(checkTarget(
      loaded.spec, loaded.locations.find("cluster.device").str(), target));
  return target;
}
