// RUN: hocket-translate %s --kern-to-cuda | FileCheck %s

// CHECK: #include "kernels/cuda/Device.cuh"

// No reduction: a thread has one vector of 16 bytes of the narrowest elements.

// CHECK-LABEL: // scale [8 x 64]
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(256)
// CHECK-NEXT: hocket_kernel_scale(const bf16 *in0, const float *in1,
// CHECK: const Integer row = at / cols, column = at % cols;
// CHECK: const auto vector0 = load<8>(in0 + row * cols + column);
// CHECK-NEXT: const auto vector1 = load<8>(in1 + column);
// CHECK: const float mulf2 = a0 * a1;
// CHECK-NEXT: result0.at[i] = fromFloat<float>(mulf2);
kern.kernel @scale [8 x 64] (%x: tensor<8x64xbf16> as full, %w: tensor<64xf32> as col) -> (tensor<8x64xf32> as full) {
  %0 = arith.mulf %x, %w : f32
  kern.yield %0 : f32
}

// Without rows to tell apart the tensor is one row, which may have a tail.

// CHECK-LABEL: // square
// CHECK: cols = 7000003;
// CHECK: if (column >= cols)
// CHECK: load<4>(in0 + column, cols - column);
// CHECK: store(out0 + column, result0, cols - column);
kern.kernel @square [1 x 7000003] (%x: tensor<7000003xf32> as full) -> (tensor<7000003xf32> as full) {
  %0 = arith.mulf %x, %x : f32
  kern.yield %0 : f32
}

// Sixteen numbers of 8 bits are 16 bytes; they are converted two at a time. What
// they come from is read 16 bytes at a time too.

// CHECK-LABEL: // quantize [1 x 512]
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(256)
// CHECK-NEXT: hocket_kernel_quantize(const bf16 *in0, const float *in1, e4m3 *out0,
// CHECK: threadIdx.x) * 16;
// CHECK: const auto vector0 = load<16>(in0 + column);
// CHECK: float result0[16];
// CHECK: result0[i] = minimumf
// CHECK: store(out0 + column, narrowed<e4m3>(result0));
kern.kernel @quantize [8 x 64] (%x: tensor<8x64xbf16> as full, %s: tensor<f32> as scalar) -> (tensor<8x64xf8E4M3FN> as full) {
  %most = arith.constant 448.0 : f32
  %0 = arith.mulf %x, %s : f32
  %1 = arith.minimumf %0, %most : f32
  kern.yield %1 : f32
}

// CHECK-LABEL: // widen
// CHECK: hocket_kernel_widen(const e5m2 *in0, bf16 *out0,
// CHECK: const auto vector0 = load<16>(in0 + column
// CHECK: const float a0 = toFloat(vector0.at[i]);
// CHECK: result0.at[i] = fromFloat<bf16>(a0);
kern.kernel @widen [1 x 4100] (%x: tensor<4100xf8E5M2> as full) -> (tensor<4100xbf16> as full) {
  kern.yield %x : f32
}

// Rounded within a kernel.

// CHECK-LABEL: // rounded
// CHECK: const e4m3 truncf1 = fromFloat<e4m3>(a0);
// CHECK: const float extf2 = toFloat(truncf1);
kern.kernel @rounded [1 x 64] (%x: tensor<64xf32> as full) -> (tensor<64xf32> as full) {
  %0 = arith.truncf %x : f32 to f8E4M3FN
  %1 = arith.extf %0 : f8E4M3FN to f32
  kern.yield %1 : f32
}

// A short row is a warp's: no barrier. The input stays in registers; the
// exponentials do too, as they cost more than room.

// CHECK-LABEL: // softmax [8 x 64]
// CHECK-NOT: __syncthreads
// CHECK: Pack<float, 4> held0[1];
// CHECK: float kept0[1][4];
// CHECK: greatest2 = reduceRow<Max, 32>
// CHECK: expf(
// CHECK: sum5 = reduceRow<Add, 32>
// CHECK-NOT: expf(
// CHECK: store(
kern.kernel @softmax [8 x 64] (%x: tensor<8x64xf32> as full) -> (tensor<8x64xf32> as full) {
  %one = arith.constant 1.0 : f32
  %m = kern.reduce max %x : f32
  %0 = arith.subf %x, %m : f32
  %e = math.exp %0 : f32
  %s = kern.reduce add %e : f32
  %i = arith.divf %one, %s : f32
  %p = arith.mulf %e, %i : f32
  kern.yield %p : f32
}

// A long row is a block's, two vectors of it a thread's, or as many as leave the
// fewest threads idle; of one that is too long for registers the exponentials go
// to shared memory.

// CHECK-LABEL: // long_rows
// CHECK-NEXT: __launch_bounds__(512)
// CHECK: const Integer row = blockIdx.x;
// CHECK: Pack<float, 4> held0[2];
kern.kernel @long_rows [8 x 4096] (%x: tensor<8x4096xf32> as full) -> (tensor<8x4096xf32> as full) {
  %s = kern.reduce add %x : f32
  %p = arith.mulf %x, %s : f32
  kern.yield %p : f32
}

// CHECK-LABEL: // uneven_rows [8 x 1600]
// CHECK-NEXT: __launch_bounds__(224)
// CHECK: Pack<bf16, 8> held0[1];
// CHECK: reduceRow<Add, 224>
kern.kernel @uneven_rows [8 x 1600] (%x: tensor<8x1600xbf16> as full) -> (tensor<8x1600xbf16> as full) {
  %s = kern.reduce add %x : f32
  %p = arith.mulf %x, %s : f32
  kern.yield %p : f32
}

// CHECK-LABEL: // longest_rows
// CHECK: HOCKET_DYNAMIC_SHARED(shared);
// CHECK: float *const kept0 = shared + 0 * cols;
// CHECK: for (Integer column = lane * 4; column < cols; column += 4096)
// CHECK: kept0[column + i] = exp
kern.kernel @longest_rows [8 x 20000] (%x: tensor<8x20000xf32> as full) -> (tensor<8x20000xf32> as full) {
  %e = math.exp %x : f32
  %s = kern.reduce add %e : f32
  %p = arith.mulf %e, %s : f32
  kern.yield %p : f32
}

// Sums over rows: a block has one sector of columns, its threads the rows.

// CHECK-LABEL: // sums [64 x 64], summed over rows
// CHECK: lane = threadIdx.x % 2, group = threadIdx.x / 2;
// CHECK: for (Integer row = group; row < rows; row += 64)
// CHECK: reduceGroups<2, 64, 4>(sums0, scratch);
// CHECK: scalars.at[3]
kern.kernel @sums by_columns [64 x 64] (%x: tensor<64x64xf32> as full) -> (tensor<64xf32> as col) {
  kern.yield %x : f32
}

// Of many rows each block has a part, and one line of columns. The last one adds
// the parts. Rows of whole vectors are tested for their alignment once.

// CHECK-LABEL: // many_rows [3000 x 768], summed over rows
// CHECK-NEXT: __launch_bounds__(256, 2)
// CHECK: block = blockIdx.x % 12, part = blockIdx.x / 12;
// CHECK: const Integer first = Integer(part) * 131;
// CHECK: if (column < cols && areAligned<8>(in0)) {
// CHECK: for (Integer row = first + group; row < last; row += 32)
// CHECK: loadAligned<8>(in0 + row * cols + column);
// CHECK: load<8>(in0 + row * cols + column);
// CHECK: static __device__ Pack<float, 8> partials[1][23][96];
// CHECK: if (!isLast(arrived[block], 23))
// CHECK-NEXT: return;
// CHECK-NEXT: addParts<32>(partials[0], vector, group, sums0);
// CHECK-NEXT: reduceGroups<8, 32, 8>(sums0, scratch);
kern.kernel @many_rows by_columns [3000 x 768] (%x: tensor<3000x768xbf16> as full) -> (tensor<768xf32> as col) {
  kern.yield %x : f32
}
