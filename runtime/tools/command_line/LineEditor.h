//===- LineEditor.h - Lines that a person types --------------- -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_COMMAND_LINE_LINEEDITOR_H
#define HOCKET_RUNTIME_TOOLS_COMMAND_LINE_LINEEDITOR_H

#include <functional>
#include <optional>
#include <string>

namespace hocket {

/// Whether a person sits before standard input and output.
bool isConversation();

/// The next line of the terminal, with a line editor's keys and a history, less
/// its line feed; nothing once the person has ended it (Ctrl-D), or `ends` says
/// so, which is asked several times a second. One thread.
std::optional<std::string> readLine(const std::string &prompt,
                                    const std::function<bool()> &ends);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_COMMAND_LINE_LINEEDITOR_H
