//===- ProgramReport.h - An executable, described ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_REPORTS_PROGRAMREPORT_H
#define HOCKET_RUNTIME_TOOLS_REPORTS_PROGRAMREPORT_H

#include "runtime/program/program.pb.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hocket {

/// For people: provenance, training, parameters, FLOPs, memory by kind with a
/// bar each, kernels, and the program (all instructions with `listing`, else
/// counts). The program passed checkProgram().
std::string programText(const program::Program &program, bool listing);

/// How much programJson() says.
enum class ProgramDetail {
  Totals,      ///< Everything but "roles".
  Instructions ///< And every instruction and buffer of each role.
};

/// The same for programs; bytes, counts and FLOPs are exact numbers.
nlohmann::ordered_json
programJson(const program::Program &program,
            ProgramDetail detail = ProgramDetail::Instructions);

/// What the certificate says: peaks by role and kind of memory, and of each
/// entry messages, collectives by group and the longest chain of instructions.
std::string certificateText(const program::Program &program);
nlohmann::ordered_json certificateJson(const program::Program &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_REPORTS_PROGRAMREPORT_H
