//===- ProgramInput.cpp - The program that a command runs -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/ProgramInput.h"

#include "runtime/program/NativeOrigin.h"
#include "runtime/program/file/ProgramFile.h"

using namespace hocket;

ProgramInput::ProgramInput(ProgramResolver how) : resolver(std::move(how)) {
  if (!resolver.resolve)
    resolver.resolve = readProgram;
}

void hocket::addProgramOptions(CLI::App &command, ProgramInput &input) {
  command.add_flag("--no-native", input.noForeignCode,
                   "Refuse an executable whose native code was not compiled "
                   "by this user on this machine");
  if (input.resolver.addOptions)
    input.resolver.addOptions(command);
}

/// What is to be known before native code from elsewhere runs, or "".
static std::string nativeNote(const std::string &input,
                              const program::Program &program) {
  std::vector<std::string> foreign = foreignNativeCode(program);
  if (foreign.empty())
    return "";
  return "native code of " + input +
         " was not compiled by you on this machine (SHA-256 " +
         foreign.front().substr(0, 16) +
         (foreign.size() == 1
              ? ")"
              : ", and " + std::to_string(foreign.size() - 1) + " more)") +
         "; it can do whatever you can";
}

StatusOr<OpenedProgram>
hocket::openProgram(const ProgramInput &input, RunOutput output,
                    const std::optional<comm::Launch> &launch) {
  std::string action =
      input.input.ends_with(".hkx") ? "loading " : "compiling ";
  std::unique_ptr<PhaseNotice> notice;
  if (!launch || launch->rank == 0)
    notice =
        std::make_unique<PhaseNotice>(std::move(output), action + input.input);
  HOCKET_ASSIGN_OR_RETURN(program::Program program,
                          input.resolver.resolve(input.input));
  OpenedProgram opened;
  opened.nativeNote = nativeNote(input.input, program);
  if (input.noForeignCode && !opened.nativeNote.empty())
    return invalidArgument(opened.nativeNote +
                           "; --no-native refuses it: compile the model here, "
                           "from the specification that it was made of");
  opened.program = std::make_shared<const program::Program>(std::move(program));
  return opened;
}

/// What MPI's launchers start believes that it writes to a terminal even where
/// it writes to a file.
TerminalWidth hocket::terminalOf(const std::optional<comm::Launch> &launch,
                                 int descriptor) {
  bool mayShow = !launch || (launch->rank == 0 && !launch->usesMpi);
  return mayShow ? terminalWidth(descriptor) : nullptr;
}
