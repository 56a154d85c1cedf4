//===- CertificateText.cpp - What was proved of an executable -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "runtime/program/Peak.h"
#include "runtime/program/certificate/Certificate.h"
#include "runtime/tools/reports/ProgramReport.h"

#include <nlohmann/json.hpp>

using namespace hocket;
using nlohmann::ordered_json;
using program::Program;

using Rows = std::vector<std::vector<std::string>>;

/// "0 to 7", "3".
static std::string ranksText(const program::Role &role) {
  if (role.ranks().empty())
    return "none";
  uint32_t first = role.ranks(0), last = role.ranks(role.ranks_size() - 1);
  return first == last ? formatText("%u", first)
                       : formatText("%u to %u", first, last);
}

static std::string peaksText(const Program &program) {
  Rows rows;
  for (const program::Role &role : program.roles()) {
    RolePeak peak = peakOf(role);
    std::string kinds;
    for (const auto &[name, bytes] : peak.byKind)
      kinds += (kinds.empty() ? "" : ", ") + name + " " + formatBytes(bytes);
    rows.push_back({role.name(), ranksText(role),
                    formatGrouped(role.memory().arena_bytes()), kinds});
  }
  return formatTable({"role", "ranks", ">peak bytes", "by kind"}, rows);
}

static std::string collectivesText(const EntrySummary &entry) {
  std::string text;
  for (const auto &[group, calls] : entry.collectives)
    text += formatText("%s%s %s (%s)", text.empty() ? "" : ", ", group.c_str(),
                       formatGrouped(calls.calls).c_str(),
                       formatBytes(calls.bytes).c_str());
  return text.empty() ? "none" : text;
}

static std::string entriesText(const Program &program) {
  Rows rows;
  for (const EntrySummary &entry : summarizeEntries(program))
    rows.push_back({entry.name, formatGrouped(entry.messages),
                    formatBytes(entry.messageBytes), formatGrouped(entry.chain),
                    formatGrouped(entry.instructions), collectivesText(entry)});
  return formatTable({"entry", ">messages", ">bytes", ">longest chain",
                      ">of a rank", "collectives by group"},
                     rows);
}

std::string hocket::certificateText(const Program &program) {
  return "Certificate: every send has its receive, every collective its "
         "members, no wait is for ever, no two streams race\n" +
         peaksText(program) + "\n" + entriesText(program);
}

ordered_json hocket::certificateJson(const Program &program) {
  ordered_json peaks = ordered_json::array(), entries = ordered_json::array();
  for (const program::Role &role : program.roles()) {
    RolePeak peak = peakOf(role);
    ordered_json kinds;
    for (const auto &[name, bytes] : peak.byKind)
      kinds[name] = bytes;
    peaks.push_back({{"role", role.name()},
                     {"ranks", ranksText(role)},
                     {"arena_bytes", role.memory().arena_bytes()},
                     {"at_instruction", peak.position},
                     {"by_kind", kinds}});
  }
  for (const EntrySummary &entry : summarizeEntries(program)) {
    ordered_json groups = ordered_json::object();
    for (const auto &[group, calls] : entry.collectives)
      groups[group] = {{"calls", calls.calls}, {"bytes", calls.bytes}};
    entries.push_back({{"name", entry.name},
                       {"messages", entry.messages},
                       {"message_bytes", entry.messageBytes},
                       {"longest_chain", entry.chain},
                       {"instructions_of_a_rank", entry.instructions},
                       {"collectives", groups}});
  }
  return {{"peaks", peaks}, {"entries", entries}};
}
