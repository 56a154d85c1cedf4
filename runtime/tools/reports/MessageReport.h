//===- MessageReport.h - What ranks send to one another ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_REPORTS_MESSAGEREPORT_H
#define HOCKET_RUNTIME_TOOLS_REPORTS_MESSAGEREPORT_H

#include "runtime/tools/reports/CollectiveReport.h"

namespace hocket {

/// One end of a message: the buffer that holds it, and who uses that.
struct MessageEnd {
  std::string buffer;                      ///< "layers.2.layer.mlp.residual"
  std::vector<InstructionPosition> places; ///< of the transfers
  /// Of a send, the op that makes it; of a receive, the first that reads it:
  /// "model.textproto:7:3 layers.2.layer". Empty if no op of the role does.
  std::string op;
};

/// Messages that are alike: sent by one role, with one tag.
struct MessageUse {
  std::string group;  ///< "pp"
  uint32_t ranks = 0; ///< of the group
  uint32_t tag = 0;
  bool around = false; ///< Each rank sends to the one `to` places on (rings).
  /// Places in the group. Of a ring `from` is 0.
  uint32_t from = 0, to = 0;
  std::string dtype;
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;   ///< of one message
  uint64_t perStep = 0; ///< messages that one rank sends in "train_step"
  MessageEnd sent, received;
};

/// All of a program, in its order. The program passed checkProgram().
std::vector<MessageUse> messageUses(const program::Program &program);

/// Whether `name` is what is asked about: "send" or "receive", the group, a
/// buffer of either end, or a place ("forward_0.send:0").
bool isAskedFor(const program::Program &program, const MessageUse &use,
                const std::string &name);

/// One object a use; exact numbers.
nlohmann::ordered_json messageJson(const program::Program &program,
                                   const MessageUse &use);

/// The same for people, from messageJson().
std::string messageText(const nlohmann::ordered_json &use);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_REPORTS_MESSAGEREPORT_H
