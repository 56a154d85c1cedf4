//===- TraceFile.cpp - What ran when, for Perfetto ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/TraceFile.h"

#include "runtime/base/JsonLines.h"

#include <nlohmann/json.hpp>
#include <set>

using namespace hocket;
using Json = nlohmann::ordered_json;

/// Gives a process or a thread its name.
static std::string nameEvent(const char *kind, unsigned rank, uint32_t stream,
                             const std::string &name) {
  Json event;
  event["name"] = kind;
  event["ph"] = "M";
  event["pid"] = rank;
  event["tid"] = stream;
  event["args"] = {{"name", name}};
  return toJsonText(event) + ",\n";
}

std::string hocket::traceEvents(unsigned rank, const std::string &rankName,
                                const std::vector<TraceSpan> &spans) {
  std::string text = nameEvent("process_name", rank, 0, rankName);
  std::set<uint32_t> streams;
  for (const TraceSpan &span : spans) {
    if (streams.insert(span.stream).second)
      text += nameEvent("thread_name", rank, span.stream,
                        "stream " + std::to_string(span.stream));
    Json event;
    event["name"] = span.name;
    event["cat"] = span.category;
    event["ph"] = "X";
    event["ts"] = span.beginMicros;
    event["dur"] = span.micros;
    event["pid"] = rank;
    event["tid"] = span.stream;
    for (const auto &[key, value] : span.arguments)
      event["args"][key] = value;
    text += toJsonText(event) + ",\n";
  }
  return text;
}

std::string hocket::traceText(const std::vector<std::string> &events) {
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  for (const std::string &each : events)
    text += each;
  if (text.ends_with(",\n"))
    text.erase(text.size() - 2, 1);
  return text + "]}\n";
}
