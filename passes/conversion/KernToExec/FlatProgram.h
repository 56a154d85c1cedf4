//===- FlatProgram.h - A role before it has addresses -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The scheduled functions with every call inlined: straight lines of
/// instructions on numbered buffers. The steps of `convert-kern-to-exec` work
/// on it in turn:
///
///   flatten      (FlatProgram.cpp)   IR -> instructions on buffers
///   orderCollectives (CollectiveOrder.cpp) collectives start early, several
///                                    as one, and what waits for them stands
///                                    late
///   foldWrites   (WriteFolding.cpp)  results go straight to variables, or
///                                    over an operand that dies
///   bucketGradients (GradientBuckets.cpp) gradients are reduced while the last
///                                    backward runs
///   freeGradients (GradientLifetimes.cpp) gradients live from where they are
///                                    made, if one microbatch makes them
///   overlapCollectives (CollectiveStreams.cpp) collectives that compute
///                                    passes by leave stream 0
///   joinOwnTransfers (OwnTransfers.cpp) what a rank sends itself is one
///                                    transfer
///   countCopies  (ResidualCopies.cpp) of how many microbatches a buffer
///                                    holds values at once, and where
///   settleTransfers (TransferProgress.cpp) of all ranks together: so many
///                                    copies of what crosses that no ranks
///                                    wait for each other for ever
///   layOut       (ArenaLayout.cpp)   lifetimes and offsets
///   placeEvents  (StreamEvents.cpp)  streams wait for each other where they
///                                    meet, in variables or in bytes
///   emit         (RoleEmission.cpp)  -> exec.role, with the runs and events
///                                    of TransferRuns.cpp
///
/// Positions count instructions through all sequences in their order, so that
/// a residual's lifetime runs from `forward` into `backward`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_KERNTOEXEC_FLATPROGRAM_H
#define HOCKET_PASSES_CONVERSION_KERNTOEXEC_FLATPROGRAM_H

#include "dialects/exec/IR/Exec.h"
#include "dialects/kern/IR/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace hocket::kerntoexec {

/// How an instruction's result meets what its buffer holds; the numbers are
/// those of the `accumulate` attribute. The first is that of the sequence in an
/// entry.
enum class Accumulation { Overwrite = 0, Add = 1, AddUnlessFirst = 2 };

struct FlatBuffer {
  mlir::RankedTensorType type;
  std::string name;
  std::string kind; ///< inputs, activations, workspace, parameters, ...
  kern::VariableOp variable; ///< null for a value of the step
  int mergedInto = -1;       ///< another buffer that holds this value
  int64_t bytes = 0;
  int64_t first = -1, last = -1; ///< positions; -1 where never used
  int64_t offset = 0;
  int64_t copies = 1; ///< one for each microbatch in flight
  /// A microbatch's copy is its number modulo `copies`; else its slot.
  bool byMicrobatch = false;
  /// The buffer in whose copies this one's stand, from `offset` of each on;
  /// -1: none.
  int within = -1;
  bool isResidual = false;
  bool isLink = false;      ///< crosses to or from another stage
  bool isBucketed = false;  ///< gradients are reduced from it or into it
  bool livesInStep = false; ///< a variable that holds nothing between steps

  bool persistent() const { return variable && !livesInStep; }
};

/// A number that an instruction takes: a constant, or what follows from the
/// device's place in the mesh (kern.place).
struct FlatScalar {
  int64_t constant = 0;
  mlir::ArrayAttr axes; ///< null: the constant
  int64_t step = 0;     ///< times the place along the axes
};

/// The other end of a value that crosses between stages.
struct FlatLink {
  int64_t rank = 0; ///< pipeline rank
  int64_t tag = 0;
};

struct FlatInstruction {
  enum class Kind {
    Launch,
    Gemm,
    Library,
    Collective,
    Copy,
    Input,
    Output,
    Accumulate,
    Write,
    Receive, ///< of all values that come from another stage; with inputs, the
             ///< rank's own, what it sends itself
    Send,    ///< of all that go to one
    Record,  ///< of an event
    Wait     ///< for an event
  };
  Kind kind;
  mlir::Operation *op = nullptr; ///< what it came from
  mlir::Location loc;
  std::string place = {}; ///< of the model: "layers.3"
  llvm::SmallVector<int> inputs = {}, outputs = {};
  llvm::SmallVector<FlatScalar, 2> instances = {}, scalars = {};
  Accumulation accumulation = Accumulation::Overwrite;
  std::string hostName = {};
  mlir::ArrayAttr hostAxes = {};             ///< by dim, of an input in pieces
  llvm::SmallVector<FlatLink, 2> links = {}; ///< of Receive and Send
  bool dead = false;                         ///< folded into another
  /// The stream, by what it is for: an axis of the mesh, "gradients", or empty
  /// for stream 0; of a Record or Wait, the one that it stands on.
  std::string lane = {};
  /// Of a collective beside stream 0, the instruction of its sequence (or the
  /// sequence's end) before which it must be over.
  size_t join = 0;
  int64_t event = 0; ///< of a Record or Wait
};

struct FlatSequence {
  std::string name;
  char fragment = 0;  ///< F, B, W, U, E or P; see pipe.fragment_kind
  int64_t stage = -1; ///< -1 where there is only one
  std::vector<FlatInstruction> instructions;
  /// What a schedule calls this, where that is not the name: one function may
  /// have become several sequences.
  std::string function = {};
  /// Runs only with the last run of its function in a step.
  bool lastOnly = false;
  /// All of it runs there, and what it waits for is the runs' matter.
  std::string lane = {};

  const std::string &functionName() const {
    return function.empty() ? name : function;
  }
};

/// How many microbatches of a stage hold a value at once, by the fragments that
/// make it and use it last. They are rings: microbatch m has copy m modulo the
/// number.
struct StageCopies {
  int64_t forwardToBackward = 1, forwardToWeight = 1, backwardToWeight = 1;
  /// Whether a W runs between F and B of another microbatch, and whether an F
  /// runs between B and W of another one.
  bool weightsBetween = false, forwardsBetween = false;
};

/// What one pipeline rank runs.
struct RoleFragments {
  int64_t rank = 0;
  bool isCut = false; ///< one of several stages
  std::vector<kern::ScheduleOp> schedules;
  /// In an order in which one microbatch alone could run them.
  std::vector<mlir::func::FuncOp> functions;
  /// Of what each stage keeps, by `kern.stage`.
  llvm::DenseMap<int64_t, StageCopies> copies;
  int64_t slots = 1; ///< of the schedules
};

struct FlatProgram {
  mlir::ModuleOp module;
  RoleFragments role;
  std::vector<FlatBuffer> buffers;
  std::vector<FlatSequence> sequences;
  /// The lanes that are used, in the order of their streams 1, 2, ...
  std::vector<std::string> lanes;
  int64_t events = 0;       ///< of the events within sequences
  int64_t slots = 1;        ///< copies of the residuals
  int64_t microbatches = 1; ///< of a step
  int64_t arenaBytes = 0, lowerBound = 0;

  /// 0 for the empty lane.
  int64_t streamOf(const std::string &lane) const {
    return lane.empty() ? 0 : llvm::find(lanes, lane) - lanes.begin() + 1;
  }

  /// The buffer that holds the value of buffer `b`.
  int find(int b) const {
    while (buffers[b].mergedInto >= 0)
      b = buffers[b].mergedInto;
    return b;
  }
};

struct FoldCounts {
  int64_t inPlace = 0, direct = 0;
};

/// One for each pipeline rank, ascending.
std::vector<RoleFragments> selectRoles(mlir::ModuleOp module);

mlir::LogicalResult flatten(mlir::ModuleOp module, FlatProgram &program);
/// Puts collectives together until they have `bucketBytes`, and in a place
/// where something else can run beside them. 0: nothing is put together.
void orderCollectives(FlatProgram &program, int64_t bucketBytes);
mlir::LogicalResult foldWrites(FlatProgram &program, FoldCounts &counts);
/// Takes the reduction of gradients between ranks out of the update: buckets of
/// `bucketBytes` run as soon as their gradients are complete. 0: none.
void bucketGradients(FlatProgram &program, int64_t bucketBytes);
void freeGradients(FlatProgram &program);
/// Fills `lane` and `join` of collectives.
void overlapCollectives(FlatProgram &program);
mlir::LogicalResult layOut(FlatProgram &program);
void placeEvents(FlatProgram &program);
void emit(FlatProgram &program);

/// Whether two instructions use one buffer, and one of them changes it.
bool meet(const FlatProgram &program, const FlatInstruction &a,
          const FlatInstruction &b);

/// Counts the copies of what stages keep: `actions` are those of a schedule
/// that a stage's fragments are, in order.
struct StageAction {
  char fragment = 0; ///< F, B or W
  int64_t microbatch = 0;
};
StageCopies copiesOfStage(llvm::ArrayRef<StageAction> actions);

/// While a microbatch's value is kept: places in an order, ends included.
struct Stay {
  int64_t begin = -1, end = -1; ///< -1: never
};
/// Whether no two microbatches with one copy of `ring` stay at one time.
bool fitsRing(const std::vector<Stay> &stays, int64_t ring);
/// Gives every residual and link its copies, by the lifetimes of findLifetimes.
void countCopies(FlatProgram &program);

/// Adds copies of links until every entry of `programs`, those of all pipeline
/// ranks, comes to its end though nothing is buffered on the way.
mlir::LogicalResult
settleTransfers(llvm::MutableArrayRef<FlatProgram> programs);

/// Fills `lanes`.
void numberLanes(FlatProgram &program);

/// Makes what the rank sends itself one transfer, in the place of the receive.
void joinOwnTransfers(FlatProgram &program);

/// Fills `first` and `last` of every buffer from the instructions that stand;
/// what a collective beside stream 0 uses lives until it is over.
void findLifetimes(FlatProgram &program);

/// Whether the buffer of an instruction of this kind is filled from outside.
inline bool comesFromOutside(FlatInstruction::Kind kind) {
  return kind == FlatInstruction::Kind::Input ||
         kind == FlatInstruction::Kind::Receive;
}

/// Bytes of a statically shaped tensor; -1 if that overflows.
int64_t byteSize(mlir::RankedTensorType type);

} // namespace hocket::kerntoexec

#endif // HOCKET_PASSES_CONVERSION_KERNTOEXEC_FLATPROGRAM_H
