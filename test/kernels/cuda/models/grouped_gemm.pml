/* Part of Hocket, under the Apache License v2.0.
 *
 * WarpgroupGemm of kernels/cuda/HopperGemm.cuh, and what calls it; see
 * attention_forward.pml. Steps belong to ranges of k, any number of them, of any
 * number of rectangles; empty ranges do nothing. The last step of one may have
 * rows that are to be cleared, by each group that reads them: zeros may be
 * written again where another group reads them. Threads that fetch do not care
 * where a range ends.
 */

#define TILES (4 * kGroupStages)
#define STAGES (2 * kGroupStages)
#define OWN_STAGES 0
#define Own_bytes 0
#define READS(p) 1
#define READS_OF_GROUP 2
#define LANES 1
#define MEETINGS (GROUPS + 1)
#define warpgroup() group
#include "barriers.pml"

/* What is known of the step in a stage: that others of its range follow, that
 * none does, or that rows of this last one are to be cleared.
 */
#define GOES_ON 1
#define ENDS 2
#define IS_CUT 3
byte kinds[kGroupStages], passed[kGroupStages], cleared[STAGES];
#define kind kinds[step % kGroupStages]
inline findKind() {
  atomic {
    if
    :: kind == 0 && !(ended && frontier == at(step + 1)) ->
       kind = GOES_ON;
       if
       :: frontier == at(step + 1) -> frontier = at(frontier + 1)
       :: else
       fi
    :: kind == 0 -> kind = ENDS
    :: kind == 0 -> kind = IS_CUT
    :: else
    fi
  }
}
/* All that is known is forgotten when the last process has done with the step. */
inline pass(left, leftTile, right, rightTile) {
  d_step {
    more = (kind == GOES_ON);
    passed[step % kGroupStages]++;
    if
    :: passed[step % kGroupStages] == WARPS ->
       passed[step % kGroupStages] = 0;
       kind = 0;
       cleared[left] = 0;
       cleared[right] = 0
    :: else
    fi
  }
}
#define passStep(left, right) pass(left, right)
/* The processes of this one's group, a bit each. */
#define OWN_GROUP                                                              \
  (((1 << PROCESSES_OF_GROUP) - 1) << (group * PROCESSES_OF_GROUP))
inline clear(p, i) {
  assert(memory[p].there && memory[p].tile == i);
  cleared[p] = cleared[p] | (1 << warp)
}
inline multiply(p, i) {
  assert(kind != IS_CUT || (cleared[p] & OWN_GROUP) == OWN_GROUP);
  read(p, i)
}
#define clearTile(tiles) clear(tiles)
#define multiplyTile(tiles) multiply(tiles)
#define fetchStep(tiles, b) copy(tiles, b)

inline WarpgroupGemm() {
  // if (threadIdx.x == 0)
  beginRing(ring, 1, 4 * kGemmWarpgroups);
  fenceBarrierInit();
  __syncthreads()
}

inline fetch() {
  do // for (int k = firstK; k < firstK + count; k += depth, ++step)
  :: atomic {
       more ->
       producerAcquire(ring, step);
       expect(barrier(ring, step), kGroupStageBytes);
       fetchStep(left(step), barrier(ring, step));
       fetchStep(right(step), barrier(ring, step));
       step = at(step + 1);
       seen(step, more)
     }
  :: else -> break
  od
}

inline clearFrom() {
  atomic {
    clearTile(left(step));
    clearTile(right(step));
    fenceProxyAsync()
  }
  namedBarrierSync(1 + warpgroup(), 128)
}

inline multiplyStep() {
  multiplyTile(left(step));
  multiplyTile(right(step))
}

#define isBehindOthers (!isFirst)
inline multiplyNext() {
  atomic {
    consumerWait(ring, step);
    findKind()
  }
  if
  // if constexpr (!AIsDeep)
  // if (rest < depth)
  :: kind == IS_CUT -> clearFrom()
  :: else
  fi;
  atomic {
    multiplyStep();
    waitWgmma(1);
    passStep(left(step), right(step));
    if // if (isBehindOthers)
    :: isBehindOthers -> consumerRelease(ring, step - 1)
    :: else
    fi;
    isFirst = false;
    step = at(step + 1)
  }
}

/* The steps of both loops are alike. */
inline add() {
  // for (int piece = 0; piece < Pieces; ++piece)
  // if (piece * depth < count)
  // multiplyNext()
  isFirst = true;
  do // for (int k = Pieces * depth; k < count; k += depth)
  :: more -> multiplyNext()
  :: else -> break
  od;
  atomic {
    waitWgmma(0);
    // if (count > 0)
    consumerRelease(ring, step - 1);
    seen(step, more)
  }
}

init {
  byte i;
  atomic {
    WarpgroupGemm();
    run Fetch();
    running++;
    runWarps()
  }
  endBlock()
}

// if (Roles::fetches())
proctype Fetch() {
  byte warp = OTHER, at_, step;
  bool more;
  beginToFetch();
  // if (Roles::isFetcher())
  seen(0, more);
  // for (int i = blockIdx.x; i < count; i += stride)
  // for (Integer j = 0; j < shape.stretches(); ++j)
  fetch();
  running--
}

// else
proctype Multiply(byte group, warp) {
  chan reading = [4] of { byte };
  byte at_, step;
  bool more, isFirst, round;
  beginToMultiply();
  seen(0, more);
  // for (int i = blockIdx.x; i < count; i += stride)
  do // for (Integer j = 0; j < shape.stretches(); ++j)
  :: more -> add()
  :: else -> break
  od;
  running--
}
