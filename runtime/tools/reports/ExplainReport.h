//===- ExplainReport.h - Why a tensor lies where it lies --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_REPORTS_EXPLAINREPORT_H
#define HOCKET_RUNTIME_TOOLS_REPORTS_EXPLAINREPORT_H

#include "base/Status.h"
#include "runtime/program/program.pb.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hocket {

/// One object for every tensor of Program.explanation: name, kind, what makes
/// it and where, its shape and that of a shard, the axes of each dim, why.
nlohmann::ordered_json shardingsJson(const program::Program &program);

/// What can be asked about: names of tensors, then of kinds of collectives, of
/// messages and of groups, each once, in order.
std::vector<std::string> explainableNames(const program::Program &program);

/// Everything that is known of `name`: {"name", "tensors", "collectives",
/// "messages"}. It is a tensor ("layers.3.attention.q.weight", "attention.q"),
/// a kind of collective ("all_gather"), "send" or "receive", a group ("tp") or
/// a place ("forward_0:12", "role0/forward_0:12"). NotFound with the nearest
/// names otherwise. `program` passed checkProgram().
StatusOr<nlohmann::ordered_json> explain(const program::Program &program,
                                         const std::string &name);

/// The result of explain(), for people.
std::string explanationTextOf(const nlohmann::ordered_json &explanation);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_REPORTS_EXPLAINREPORT_H
