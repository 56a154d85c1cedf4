//===- ExecInterfaces.td - What every instruction can say ----------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_EXEC_EXECINTERFACES
#define HOCKET_DIALECTS_EXEC_EXECINTERFACES

include "mlir/IR/OpBase.td"

def Exec_InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::hocket::exec";
  let description = [{
    An instruction of a sequence. All its operands are buffers, each of which it
    either reads or writes; a buffer that it adds to counts as written.
  }];
  let methods = [
    InterfaceMethod<"Whether the instruction writes operand `index`.",
      "bool", "writesOperand", (ins "unsigned":$index), [{}], [{ return false; }]>,
    InterfaceMethod<"The stream that it runs on.", "int64_t", "getStreamNumber",
      (ins), [{ return static_cast<int64_t>($_op.getStream()); }]>,
    InterfaceMethod<"Puts it on a stream.", "void", "setStreamNumber",
      (ins "int64_t":$stream), [{ $_op.setStream(stream); }]>];
  let extraSharedClassDeclaration = [{
    /// The buffers that it reads, in the order of its operands.
    ::llvm::SmallVector<::mlir::Value> getReads() {
      return buffersThat(/*written=*/false);
    }
    /// The buffers that it writes, in the order of its operands.
    ::llvm::SmallVector<::mlir::Value> getWrites() {
      return buffersThat(/*written=*/true);
    }
    ::llvm::SmallVector<::mlir::Value> buffersThat(bool written) {
      ::llvm::SmallVector<::mlir::Value> buffers;
      for (::mlir::OpOperand &operand : $_op->getOpOperands())
        if ($_op.writesOperand(operand.getOperandNumber()) == written)
          buffers.push_back(operand.get());
      return buffers;
    }
  }];
}

#endif
