// What MLIR's parser would make room for, or recurse on, before it knows what it
// is, is refused before it is parsed, in a file and in a pipe.
// RUN: not hocket-opt %s 2>&1 | FileCheck %s --check-prefix=RESULT -DFILE=%s
// RUN: cat %s | not hocket-opt 2>&1 | FileCheck %s --check-prefix=RESULT -DFILE=-
// RUN: sed 's/2147483647/65536/' %s | not hocket-opt 2>&1 | FileCheck %s --check-prefix=LEAST
// RUN: sed 's/#2147483647//' %s | hocket-opt | FileCheck %s --check-prefix=SOUND
// RUN: python3 -c "print('[' * 100000)" | not hocket-opt 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: hocket-opt --emit-bytecode %S/Inputs/sound.mlir | hocket-opt | FileCheck %s --check-prefix=SOUND
// RUN: not hocket-opt %t.none 2>&1 | FileCheck %s --check-prefix=NONE
// RESULT: error: [[FILE]]:20:12: names result 2147483647 of an op; expected less than 65536
// LEAST: error: -:20:12: names result 65536 of an op
// SOUND: func.func @f
// DEEP: error: -:1:257: brackets nest deeper than 256 levels
// NONE: error: cannot open input file

func.func @f() -> i32 {
  // Neither the comment's %0#2147483647 nor the text's is one.
  %0 = arith.constant {text = "%0#2147483647"} 1 : i32
  // The last line counts.
  return %0#2147483647 : i32
}
