//===- PageReport.h - An executable as a page -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_REPORTS_PAGEREPORT_H
#define HOCKET_RUNTIME_TOOLS_REPORTS_PAGEREPORT_H

#include "runtime/tools/reports/DeviceCosts.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hocket {

/// What the page shows: the parts of programJson() that it needs, as they are,
/// and "timeline": the predicted "train_step" of one rank of each role.
///
///   timeline.seconds, .tick   of the step; seconds of one unit of time below
///   timeline.roles[r].streams names of streams
///   timeline.roles[r].runs    of fragments on stream 0: [fragment, microbatch,
///                             begin, length, of which it waits]; parts into
///                             which streams cut a fragment are one
///   timeline.roles[r].beside  on other streams: [stream, text, microbatch,
///                             begin, length, of which it waits]; of a role
///                             with very many, those of one text in one run of
///                             a fragment are one, from the first to the last
///   timeline.roles[r].parts   of each fragment: [kind, text, length] in order;
///                             kind 0 computes, 1 communicates, 2 is the host
///   timeline.roles[r].memory  {"kinds", "times", "bytes": a list a kind}
///
///   timeline.terms            of a described cluster: {"term": seconds}, and
///   timeline.price            what its plan was priced at, if it has a price:
///                             {"seconds", "spread", "terms"}; "reasons" say
///                             why a term may differ
///
///   roofline                of a program for GPUs on a described cluster, as
///                           rooflineJson() has it
///
/// `text` is an index into timeline.texts.
StatusOr<nlohmann::ordered_json> pageJson(const program::Program &program,
                                          const DeviceCosts &device);

/// One HTML file with everything in it. `program` passed checkProgram().
StatusOr<std::string> programPage(const program::Program &program,
                                  const DeviceCosts &device);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_REPORTS_PAGEREPORT_H
