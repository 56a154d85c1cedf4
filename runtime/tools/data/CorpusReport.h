//===- CorpusReport.h - What token files hold, for people -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_DATA_CORPUSREPORT_H
#define HOCKET_RUNTIME_TOOLS_DATA_CORPUSREPORT_H

#include "runtime/data/text/CorpusSummary.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

/// Token files, and their weight if they are a part of a blend.
struct ReportedCorpus {
  data::CorpusSummary summary;
  std::optional<double> weight;
};

/// Tables: one corpus after the other, and if there are several, the share of
/// each. `passes` of a part of a blend is how often it is read while the blend
/// reads as many tokens as all parts have.
std::string corporaText(const std::vector<ReportedCorpus> &corpora);

/// A corpus as an object. "lengths" has the documents of each length:
/// [{"from", "to", "documents", "tokens"}], in tokens, without empty ranges.
nlohmann::ordered_json corpusJson(const ReportedCorpus &corpus);

/// One HTML file with everything in it. Its data is {"files": [corpusJson()]}.
std::string corporaPage(const std::vector<ReportedCorpus> &corpora);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_DATA_CORPUSREPORT_H
