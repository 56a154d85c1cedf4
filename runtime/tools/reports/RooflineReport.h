//===- RooflineReport.h - A step's kernels, described -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_REPORTS_ROOFLINEREPORT_H
#define HOCKET_RUNTIME_TOOLS_REPORTS_ROOFLINEREPORT_H

#include "runtime/predict/Roofline.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hocket {

/// For people: the step, and the kernels of the role that is done last.
std::string rooflineText(const Roofline &roofline, const KernelCosts &costs);

/// The same for programs: every kernel of every role; bytes, FLOPs and seconds
/// are exact numbers. What is not known is left out.
nlohmann::ordered_json rooflineJson(const Roofline &roofline,
                                    const KernelCosts &costs);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_REPORTS_ROOFLINEREPORT_H
