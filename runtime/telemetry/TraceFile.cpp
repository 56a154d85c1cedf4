//===- TraceFile.cpp - What ran when, for Perfetto ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/TraceFile.h"

#include "base/json/JsonLines.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

using namespace hocket;
using Json = nlohmann::ordered_json;

namespace {

/// Writes the events of one rank.
class RankEvents {
public:
  explicit RankEvents(const RankTrace &trace) : trace(trace) {}

  std::string write() {
    describe("process_name", 0, "name", trace.name);
    describe("process_sort_index", 0, "sort_index", trace.rank);
    std::set<uint32_t> streams;
    for (const TraceSpan &span : trace.spans) {
      if (streams.insert(span.stream).second)
        nameStream(span.stream);
      addSpan(span);
      for (const TraceFlow &flow : span.flows)
        addFlow(span, flow);
    }
    for (const TraceMemory &moment : trace.memory) {
      Json event = eventOf("memory", "C", 0);
      event["ts"] = moment.micros;
      for (const auto &[kind, bytes] : moment.bytes)
        event["args"][kind] = bytes;
      add(event);
    }
    return std::move(text);
  }

private:
  Json eventOf(const std::string &name, const char *phase,
               uint32_t stream) const {
    Json event;
    event["name"] = name;
    event["ph"] = phase;
    event["pid"] = trace.rank;
    event["tid"] = stream;
    return event;
  }

  void add(const Json &event) { text += toJsonText(event) + ",\n"; }

  /// Says something of a process or a thread.
  template <typename Value>
  void describe(const char *what, uint32_t stream, const char *key,
                const Value &value) {
    Json event = eventOf(what, "M", stream);
    event["args"] = {{key, value}};
    add(event);
  }

  void nameStream(uint32_t stream) {
    describe("thread_name", stream, "name",
             stream < trace.streams.size()
                 ? trace.streams[stream]
                 : "stream " + std::to_string(stream));
    describe("thread_sort_index", stream, "sort_index", stream);
  }

  void addSpan(const TraceSpan &span) {
    Json event = eventOf(span.name, "X", span.stream);
    event["cat"] = span.category;
    event["ts"] = span.beginMicros;
    event["dur"] = span.micros;
    for (const auto &[key, value] : span.arguments)
      event["args"][key] = value;
    for (const auto &[key, value] : span.numbers)
      event["args"][key] = value;
    add(event);
  }

  /// An arrow leaves a span where it begins and comes to one where it ends: a
  /// nanosecond before, since an arrow belongs to the span around its time.
  void addFlow(const TraceSpan &span, const TraceFlow &flow) {
    Json event = eventOf("message", flow.begins ? "s" : "f", span.stream);
    event["cat"] = "message";
    event["id"] = flow.id;
    event["ts"] = span.beginMicros +
                  (flow.begins ? 0 : std::max(0.0, span.micros - 1e-3));
    if (!flow.begins)
      event["bp"] = "e";
    add(event);
  }

  const RankTrace &trace;
  std::string text;
};

} // namespace

std::string hocket::traceEvents(const RankTrace &rank) {
  return RankEvents(rank).write();
}

std::string hocket::traceText(const std::vector<std::string> &events) {
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  for (const std::string &each : events)
    text += each;
  if (text.ends_with(",\n"))
    text.erase(text.size() - 2, 1);
  return text + "]}\n";
}
