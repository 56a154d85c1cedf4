/* Part of Hocket, under the Apache License v2.0.
 *
 * hopperAttentionKeyGradient of kernels/cuda/HopperAttention.cuh; see
 * attention_forward.pml. Where there are registers for it, the sums of keys of a
 * tile run beside the probabilities of the next one (`besideNext`). All lanes of a warp fetch: they store statistics of
 * queries, and one begins copies. LANES of them are one process.
 */

#define TILES (4 * stages)
#define STAGES (3 * stages)
#define OWN_STAGES 2
#define READS(p) 2
#define READS_OF_GROUP 1
#define MEETINGS 1
#define LANES lanes
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
    beginBarrier(ownThere, 1);
    beginRing(ring, 32, own / 16);
    fenceBarrierInit();
    __syncthreads();
    run Fetch(true, 1);
    run Fetch(false, 1);
    run Fetch(false, 30);
    running = 3;
    runWarps()
  }
  endBlock()
}

// if (Roles::fetches())
proctype Fetch(bool isFetcher; byte lanes) {
  byte warp = OTHER, at_, tile;
  bool query;
  beginToFetch();
  // if (!Roles::isOfFetchingWarp())
  // return
  seen(0, query);
  if // if (query < group * each && Roles::isFetcher())
  :: query && isFetcher ->
     atomic {
       expect(ownThere, 2 * Own_bytes);
       fetchRows(keys, ownThere);
       fetchRows(values, ownThere)
     }
  :: else
  fi;
  do // for (int tile = 0; query < group * each; ++tile, query = seeing(query + side))
  :: atomic {
       query ->
       producerAcquire(ring, tile);
       // for (int i = lane; i < 2 * side; i += 32)
       storeStatistics(statistics(tile));
       if // if (Roles::isFetcher())
       :: isFetcher ->
          expect(barrier(ring, tile), 2 * Tile_bytes);
          fetchRows(queries(tile), barrier(ring, tile));
          fetchRows(gradients(tile), barrier(ring, tile))
       :: else -> // else
          arrive(barrier(ring, tile))
       fi;
       tile = at(tile + 1);
       seen(tile, query)
     }
  :: else -> break
  od;
  running--
}

// else
proctype Multiply(byte group, warp) {
  chan reading = [4] of { byte };
  byte at_, tile;
  bool query;
  beginToMultiply();
  seen(0, query);
  if // if (int query = seeing(0); query < group * each)
  :: query ->
     wait(ownThere, 0);
     if // if constexpr (besideNext)
     :: besideNext ->
        atomic {
          tile = 1;
          beginTile(0);
          waitWgmma(1);
          find(0);
          beginSums(gradients(0));
          waitWgmma(1);
          differentiate(0);
          waitWgmma(0);
          seen(1, query)
        }
        do // for (query = seeing(query + side); query < group * each; query = seeing(query + side), ++tile)
        :: atomic {
             query ->
             beginTile(tile);
             beginSums(queries(tile - 1));
             waitWgmma(2);
             find(tile);
             beginSums(gradients(tile));
             waitWgmma(2);
             differentiate(tile);
             waitWgmma(0);
             waitWgmma(0);
             consumerRelease(ring, tile - 1);
             tile = at(tile + 1);
             seen(tile, query)
           }
        :: else -> break
        od;
        atomic {
          beginSums(queries(tile - 1));
          waitWgmma(0)
        }
     :: else -> // else
        do // for (int tile = 0; query < group * each; ++tile, query = seeing(query + side))
        :: atomic {
             query ->
             beginTile(tile);
             waitWgmma(1);
             find(tile);
             beginSums(gradients(tile));
             waitWgmma(1);
             differentiate(tile);
             beginSums(queries(tile));
             waitWgmma(0);
             waitWgmma(0);
             consumerRelease(ring, tile);
             tile = at(tile + 1);
             seen(tile, query)
           }
        :: else -> break
        od
     fi
  :: else
  fi;
  running--
}
