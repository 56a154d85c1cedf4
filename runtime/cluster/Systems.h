//===- Systems.h - Descriptions of clusters ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The systems that are shipped, by name, and those that a user describes
/// (cluster.proto). Errors are InvalidArgument.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CLUSTER_SYSTEMS_H
#define HOCKET_RUNTIME_CLUSTER_SYSTEMS_H

#include "base/Status.h"
#include "runtime/cluster/cluster.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::cluster {

/// "a100", "b200", ...
std::vector<std::string> systemNames();

/// One of them; names the nearest ones where there is none of this name.
StatusOr<cluster::System> systemNamed(const std::string &name);

/// A description as text; `file` names it in messages. Every size is positive,
/// every efficiency in (0, 1], every latency at least 0.
StatusOr<cluster::System> parseSystem(const std::string &file,
                                      const std::string &text);

/// A shipped system by its name, or the description at a path (a text with a
/// '/' or a '.').
StatusOr<cluster::System> readSystem(const std::string &name);

/// The system with the software that it had at `release`, as "26.04.01": of
/// `system.earlier` the first that is of a later release, over
/// `system.software`; releases are compared as text. With "" the same.
cluster::System systemAtRelease(cluster::System system,
                                const std::string &release);

struct ClusterChoice {
  cluster::System system;
  int64_t devices = 1;
};

/// "h100:1024": a shipped name, or the path of a description (one with a '/'
/// or a '.'), and the number of devices, from 1 to 2^20.
StatusOr<ClusterChoice> readCluster(const std::string &text);

} // namespace hocket::cluster

#endif // HOCKET_RUNTIME_CLUSTER_SYSTEMS_H
