/* Part of Hocket, under the Apache License v2.0.
 *
 * hopperAttentionJointGradient of kernels/cuda/HopperJointAttention.cuh; see
 * attention_key_gradient.pml. A block has tile of keys after tile of keys, each
 * of which meets one pair of tiles of queries or more. Both groups store their
 * scores of a pair where each reads those of both: named barriers tell when all
 * are there, and when all have been read.
 */

#define TILES (4 * stages)
#define STAGES (3 * stages)
#define OWN_STAGES 3
#define READS(p) 2
#define READS_OF_GROUP 1
#define MEETINGS 5
#define LANES lanes
#define warpgroup() group
#define other (1 - group)
#include "barriers.pml"

/* Statistics lie behind what is copied; `stored` counts lanes. */
#define statistics(i) (2 * stages + at(i) % stages), at(i)
byte stored[stages];
inline storeStatistics(p, i) {
  d_step {
    if
    :: stored[p - 2 * stages] == 0 -> overwrite(p, i)
    :: else -> assert(memory[p].tile == i)
    fi;
    stored[p - 2 * stages] = stored[p - 2 * stages] + lanes;
    if
    :: stored[p - 2 * stages] == 32 ->
       stored[p - 2 * stages] = 0;
       memory[p].there = true
    :: else
    fi
  }
}
inline loadStatistics(p, i) {
  d_step {
    assert(memory[p].there && memory[p].tile == i);
    memory[p].left--
  }
}

/* Scores of a pair, of which each process stores two halves, and reads all. */
#define scores (STAGES + 2), 0
byte halves;
inline storePacked(p, i, column) {
  d_step {
    assert(memory[p].left == 0);
    memory[p].there = false;
    halves++;
    if
    :: halves == 2 * WARPS ->
       halves = 0;
       memory[p].there = true;
       memory[p].left = WARPS
    :: else
    fi
  }
}
#define beginProducts(all, own) isThere(own); read(all)

/* Tiles of keys are counted modulo BLOCKS; processes that multiply by one. */
#define BLOCKS 4
byte holders;
inline holdKeys() {
  assert(memory[STAGES].there && memory[STAGES + 1].there);
  holders++
}
inline leaveKeys() {
  assert(len(reading) == 0);
  holders--
}
inline isFree() { assert(holders == 0) }

/* What is behind a pair: another one of the tile of keys, another tile of keys,
 * or nothing. It is open until the first process asks, and forgotten when the
 * last one has.
 */
#define GOES_ON 1
#define ENDS 2
#define ENDS_ALL 3
byte kinds[TILES / 2], passed[TILES / 2];
bool isEmpty;
inline behindPair(pair_) {
  atomic {
    if
    :: kinds[pair_] == 0 -> kinds[pair_] = GOES_ON
    :: kinds[pair_] == 0 -> kinds[pair_] = ENDS
    :: kinds[pair_] == 0 -> kinds[pair_] = ENDS_ALL
    :: else
    fi;
    more = (kinds[pair_] == GOES_ON);
    another = (kinds[pair_] != ENDS_ALL);
    passed[pair_]++;
    if
    :: passed[pair_] == WARPS + 2 ->
       passed[pair_] = 0;
       kinds[pair_] = 0
    :: else
    fi
  }
}

inline beginTile(tile_) {
  consumerWait(ring, tile_);
  beginDots(keys, queries(tile_));
  beginDots(values, gradients(tile_))
}
inline find(tile_) {
  loadStatistics(statistics(tile_))
}
inline differentiate(tile_) {
  loadStatistics(statistics(tile_))
}

init {
  byte i;
  atomic {
    // if (threadIdx.x == 0)
    beginRing(keyRing, 1, own / 16);
    beginRing(ring, 32, own / 16);
    phases[keyRing_Start] = BLOCKS;
    phases[keyRing_Start + 1] = BLOCKS;
    fenceBarrierInit();
    __syncthreads();
    if
    :: isEmpty = true
    :: isEmpty = false
    fi;
    run Fetch(true, 1);
    run Fetch(false, 31);
    running = 2;
    runWarps()
  }
  endBlock()
}

// if (Roles::fetches())
proctype Fetch(bool isFetcher; byte lanes) {
  byte warp = OTHER, at_, tile, block;
  bool more, another = !isEmpty;
  beginToFetch();
  // if (!Roles::isOfFetchingWarp())
  // return
  do // for (int block = 0; itemOf(block) < items; ++block)
  :: atomic {
       another ->
       if // if (Roles::isFetcher())
       :: isFetcher ->
          producerAcquire(keyRing, block);
          isFree();
          expect(barrier(keyRing, block), 2 * Own_bytes);
          fetchRows(keys, barrier(keyRing, block));
          fetchRows(values, barrier(keyRing, block))
       :: else
       fi;
       more = true;
       block = (block + 1) % BLOCKS
     }
     do // for (int row = first; row < pairs * own; row += side, ++tile)
     :: atomic {
          more ->
          producerAcquire(ring, tile);
          // for (int i = 0; i < side; i += 32)
          storeStatistics(statistics(tile));
          if // if (Roles::isFetcher())
          :: isFetcher ->
             expect(barrier(ring, tile), 2 * Tile_bytes);
             fetchRows(queries(tile), barrier(ring, tile));
             fetchRows(gradients(tile), barrier(ring, tile))
          :: else -> // else
             arrive(barrier(ring, tile))
          fi;
          if
          :: tile % 2 == 1 -> behindPair(tile / 2)
          :: else
          fi;
          tile = at(tile + 1)
        }
     :: else -> break
     od
  :: else -> break
  od;
  running--
}

// else
proctype Multiply(byte group, warp) {
  chan reading = [4] of { byte };
  byte at_, tile, block;
  bool more, another = !isEmpty, round;
  beginToMultiply();
  do // for (int block = 0; itemOf(block) < items; ++block)
  :: atomic {
       another ->
       consumerWait(keyRing, block);
       holdKeys();
       beginTile(tile);
       waitWgmma(1);
       find(tile);
       beginSums(gradients(tile));
       waitWgmma(1);
       differentiate(tile);
       waitWgmma(0);
       storePacked(scores, 0);
       tile = at(tile + 1)
     }
     atomic {
       beginTile(tile);
       beginSums(queries(tile - 1));
       waitWgmma(2);
       find(tile);
       beginSums(gradients(tile));
       waitWgmma(2);
       differentiate(tile);
       waitWgmma(0);
       waitWgmma(0);
       consumerRelease(ring, tile - 1)
     }
     atomic {
       storePacked(scores, side);
       fenceProxyAsync();
       namedBarrierArrive(1 + other, 256);
       behindPair(tile / 2)
     }
     do // for (int pair = number + 1; pair < atRuntime(pairs); ++pair)
     :: atomic {
          more ->
          tile = at(tile + 1);
          beginTile(tile);
          beginSums(queries(tile - 1))
        }
        namedBarrierSync(1 + warpgroup(), 256);
        atomic {
          beginProducts(scores, keys);
          waitWgmma(3);
          find(tile);
          beginSums(gradients(tile));
          waitWgmma(3);
          differentiate(tile);
          waitWgmma(0);
          waitWgmma(0);
          waitWgmma(0);
          consumerRelease(ring, tile - 1);
          namedBarrierArrive(3 + other, 256)
        }
        atomic {
          tile = at(tile + 1);
          consumerWait(ring, tile);
          beginDots(keys, queries(tile))
        }
        namedBarrierSync(3 + warpgroup(), 256);
        atomic {
          storePacked(scores, 0);
          beginSums(queries(tile - 1));
          beginDots(values, gradients(tile));
          waitWgmma(2);
          find(tile);
          beginSums(gradients(tile));
          waitWgmma(1);
          differentiate(tile);
          waitWgmma(0);
          waitWgmma(0);
          consumerRelease(ring, tile - 1)
        }
        atomic {
          storePacked(scores, side);
          fenceProxyAsync();
          namedBarrierArrive(1 + other, 256);
          behindPair(tile / 2)
        }
     :: else -> break
     od;
     beginSums(queries(tile));
     namedBarrierSync(1 + warpgroup(), 256);
     atomic {
       beginProducts(scores, keys);
       waitWgmma(0);
       waitWgmma(0);
       leaveKeys();
       consumerRelease(ring, tile)
     }
     atomic {
       consumerRelease(keyRing, block);
       namedBarrierArrive(3 + other, 256);
       tile = at(tile + 1);
       block = (block + 1) % BLOCKS
     }
     namedBarrierSync(3 + warpgroup(), 256)
  :: else -> break
  od;
  running--
}
