/* Part of Hocket, under the Apache License v2.0.
 *
 * What kernels/cuda/TensorCopies.cuh does on hardware, for the models of the
 * kernels beside this file: barriers in shared memory (PTX ISA, "mbarrier"),
 * copies that end on them, MMAs that read what was copied, rings of stages,
 * named barriers ("bar"), turns. How the memory's proxies are kept
 * apart is no part of it.
 *
 * A model names its steps as the kernel does, in the kernel's order. Names that
 * are defined nowhere are read out of the kernel by test_barrier_models.py: the
 * kernel's constants, where its rings and barriers lie (ring_Start,
 * ring_Stages), the stages of its tiles, and what TileRing and OrderedSequence compute.
 * READS(stage) says how often a warp reads what is copied there.
 *
 * A step that only waits may be one with those behind it, an arrival with those
 * before it (Lipton, "Reduction"): behind an arrival an atomic block has
 * nothing but arrivals and copies that begin. The test holds models to that.
 */

/* Tiles are counted modulo TILES, several times what a ring has room for. How
 * many there are is open until a thread asks: so a model is one of every number
 * of tiles, whatever a mask leaves out.
 */
#define at(i) (((i) + TILES) % TILES)
byte frontier;
bool ended;
inline seen(i, found) {
  atomic {
    assert(at(frontier - (i)) <= TILES / 2);
    if
    :: at(i) != frontier -> found = true
    :: at(i) == frontier && ended -> found = false
    :: at(i) == frontier && !ended -> frontier = at(frontier + 1); found = true
    :: at(i) == frontier && !ended -> ended = true; found = false
    fi
  }
}

/* A process stands for WEIGHT of the 4 * GROUPS warps that multiply. Of ALIKE
 * neighbours, which do the same, none overtakes the one before it: what differs
 * by their names alone is one state.
 */
#define WEIGHT (4 * GROUPS / WARPS)
#define OTHER WARPS /* `warp` of threads that fetch */
byte behind[WARPS + 1]; /* steps, of the warp before */
#define mayMove() (warp == OTHER || warp % ALIKE == 0 || behind[warp] > 0)
inline move() {
  if
  :: warp != OTHER && warp % ALIKE != 0 -> behind[warp]--
  :: else
  fi;
  if
  :: warp != OTHER && (warp + 1) % ALIKE != 0 -> behind[warp + 1]++
  :: else
  fi
}

/*---- Barriers in shared memory ----------------------------------------------
 * Bytes are counted by 1024, the least that a tile is a multiple of.
 */

typedef Barrier {
  byte phase;   /* modulo `phases`; who waits sees its last bit alone */
  byte pending; /* arrivals that it lacks */
  byte bytes;   /* expected but not copied */
  byte underWay /* of copies that have begun */
};
Barrier barriers[BARRIERS];
/* Constant, so no part of a state. */
hidden byte phases[BARRIERS], arrivals[BARRIERS];

inline beginBarrier(b, count) {
  phases[b] = 2;
  arrivals[b] = count;
  barriers[b].pending = count
}
inline settle(b) {
  if
  :: barriers[b].pending == 0 && barriers[b].bytes == 0 ->
     barriers[b].phase = (barriers[b].phase + 1) % phases[b];
     barriers[b].pending = arrivals[b]
  :: else
  fi
}
inline arriveWith(b, times, more) {
  atomic {
    mayMove() ->
    assert(barriers[b].pending >= times);
    barriers[b].bytes = barriers[b].bytes + (more) / 1024;
    barriers[b].pending = barriers[b].pending - (times);
    settle(b);
    move()
  }
}
#define expect(b, bytes) arriveWith(b, 1, bytes)
#define arrive(b) arriveWith(b, LANES, 0)

/*---- Copies, and MMAs that read them ------------------------------------*/

typedef StageBuffer {
  byte tile; /* that was copied here last, or is being so */
  bool there;
  byte left; /* reads of it that are still to end, by all processes */
  byte on    /* 1 + the barrier on which the copy under way ends */
};
StageBuffer memory[STAGES + OWN_STAGES];
#define isOwn(p) ((p) >= STAGES)
#ifndef BYTES_OF_TILE
#define BYTES_OF_TILE(p) Tile_bytes
#endif
#define bytesOf(p) (isOwn(p) -> (Own_bytes) / 1024 : (BYTES_OF_TILE(p)) / 1024)

inline overwrite(p, i) {
  assert(memory[p].left == 0 && memory[p].on == 0);
  memory[p].tile = i;
  memory[p].there = false;
  memory[p].left = (isOwn(p) -> 0 : WARPS * READS(p))
}
inline copy(p, i, b) {
  d_step {
    overwrite(p, i);
    memory[p].on = 1 + b;
    barriers[b].underWay = barriers[b].underWay + bytesOf(p)
  }
}
#define fetchRows(tiles, b) copy(tiles, b)
inline land(p, b) {
  memory[p].on = 0;
  memory[p].there = true;
  barriers[b].bytes = barriers[b].bytes - bytesOf(p);
  barriers[b].underWay = barriers[b].underWay - bytesOf(p);
  settle(b)
}

/* Copies end at any time, or, which is fewer states, as late as can be: when a
 * thread waits and the phase lacks nothing else.
 */
#ifdef COPIES_END_AT_ANY_TIME
proctype Copies(byte p) {
  byte b;
end:
  do
  :: atomic {
       memory[p].on > 0 ->
       b = memory[p].on - 1;
       land(p, b);
       b = 0
     }
  od
}
#define lacksCopies(b) false
#define runCopies()                                                            \
  i = 0;                                                                       \
  do                                                                           \
  :: i < STAGES + OWN_STAGES -> run Copies(i); i++                             \
  :: else -> break                                                             \
  od
#else
#define lacksCopies(b)                                                         \
  (barriers[b].pending == 0 && barriers[b].bytes == barriers[b].underWay)
#define runCopies() skip
#endif

/* Passes when the parity is not that of the present phase, which, if nothing is
 * wrong, is the one behind that which was waited for.
 */
inline wait(b, awaited) {
  atomic {
    mayMove() &&
    ((barriers[b].phase & 1) != ((awaited) & 1) || lacksCopies(b)) ->
    d_step {
      if
      :: (barriers[b].phase & 1) == ((awaited) & 1) ->
         at_ = 0;
         do
         :: at_ == STAGES + OWN_STAGES -> break
         :: at_ < STAGES + OWN_STAGES && memory[at_].on == 1 + b ->
            land(at_, b);
            at_++
         :: else -> at_++
         od;
         at_ = 0
      :: else
      fi;
      assert(barriers[b].phase == ((awaited) + 1 + phases[b]) % phases[b]);
      move()
    }
  }
}

/* An MMA begins to read a tile, until it is waited for: `reading` has the
 * reads under way, the oldest first, so many for each group of MMAs.
 */
inline read(p, i) {
  d_step {
    assert(memory[p].there && memory[p].tile == i);
    reading!p
  }
}
inline endReads(most) {
  d_step {
    do
    :: len(reading) > (most) -> reading?at_; memory[at_].left--
    :: else -> break
    od;
    at_ = 0
  }
}
inline isThere(p, i) { assert(memory[p].there) }
#define beginDots(own, tiles) isThere(own); read(tiles)
#define beginSums(tiles) read(tiles)
#define waitWgmma(groups) endReads((groups) * READS_OF_GROUP)

/*---- Rings ------------------------------------------------------------------*/

inline beginRingAt(start, count, producers, consumers) {
  i = 0;
  do
  :: i < count ->
     beginBarrier(start + i, producers);
     phases[start + i] = TILES / count;
     beginBarrier(start + count + i, consumers);
     phases[start + count + i] = TILES / count;
     i++
  :: else -> break
  od
}
#define beginRing(ring, producers, consumers)                                  \
  beginRingAt(ring##_Start, ring##_Stages, producers, consumers)
#define barrier(ring, i) (ring##_Start + STAGE_FULL(at(i), ring##_Stages))
#define free(ring, stage) (ring##_Start + ring##_Stages + stage)
#define producerAcquire(ring, i)                                               \
  wait(free(ring, STAGE_ACQUIRED(at(i), ring##_Stages)),                       \
       PHASE_OF_STAGE(at(i), ring##_Stages))
#define consumerWait(ring, i)                                                  \
  wait((ring##_Start + TILE_AWAITED(at(i), ring##_Stages)),                    \
       PHASE_OF_TILE(at(i), ring##_Stages))
#define consumerRelease(ring, i)                                               \
  arriveWith(free(ring, STAGE_RELEASED(at(i), ring##_Stages)), WEIGHT, 0)

/*---- Named barriers -------------------------------------------------*/

typedef Meeting {
  byte threads; /* that shall come, by 32 */
  byte came;
  short who;    /* a bit a process */
  bool round
};
Meeting meetings[MEETINGS];

/* One that comes again before all have come would count for another. */
inline come(number, count) {
  assert(meetings[number].came == 0 ||
         meetings[number].threads == (count) / 32);
  assert((meetings[number].who & (1 << warp)) == 0);
  meetings[number].threads = (count) / 32;
  meetings[number].who = meetings[number].who | (1 << warp);
  meetings[number].came = meetings[number].came + WEIGHT;
  assert(meetings[number].came <= meetings[number].threads);
  if
  :: meetings[number].came == meetings[number].threads ->
     meetings[number].came = 0;
     meetings[number].who = 0;
     meetings[number].threads = 0;
     meetings[number].round = !meetings[number].round
  :: else
  fi
}
inline namedBarrierArrive(number, count) {
  atomic {
    mayMove() ->
    come(number, count);
    move()
  }
}
inline comeTo(number, count) {
  atomic {
    mayMove() ->
    round = meetings[number].round;
    come(number, count);
    move()
  }
}
inline goOnFrom(number, count) {
  atomic {
    mayMove() && meetings[number].round != round ->
    round = 0;
    move()
  }
}
inline namedBarrierSync(number, count) {
  comeTo(number, count);
  goOnFrom(number, count)
}

/*---- OrderedSequence ------------------------------------------------------------------*/

#define PROCESSES_OF_GROUP (WARPS / GROUPS)
byte holder = GROUPS - 1; /* the group whose turn it is, */
byte began = PROCESSES_OF_GROUP, gaveOn = PROCESSES_OF_GROUP; /* of its own */

inline comeToOrdered() {
  if
  :: ORDER_WAITS -> comeTo(ORDER_SYNCS)
  :: else
  fi
}
/* A group takes its turn when all of the one before it have ended theirs. */
inline takeOrdered() {
  if
  :: ORDER_WAITS -> goOnFrom(ORDER_SYNCS)
  :: else
  fi;
  d_step {
    isFirst = false;
    if
    :: began == PROCESSES_OF_GROUP ->
       assert(gaveOn == began && group == (holder + 1) % GROUPS);
       holder = group;
       began = 0;
       gaveOn = 0
    :: else -> assert(holder == group)
    fi;
    began++
  }
}
/* It ends the atomic block in which it stands, and begins another. */
#define beginOrdered() comeToOrdered() }; atomic { takeOrdered()
inline endOrdered(isLast) {
  d_step {
    assert(holder == group);
    gaveOn++
  }
  if
  :: ORDER_ARRIVES(isLast) -> namedBarrierArrive(ORDER_ARRIVED)
  :: else
  fi
}

/*---- The block --------------------------------------------------------------*/

/* Processes that run; init begins them when barriers have been. */
byte running;
#define fenceBarrierInit() skip
#define __syncthreads() skip
#define fenceProxyAsync() skip
#define beginToFetch() skip /* registers.pml */
#define beginToMultiply() skip

#define runWarps()                                                             \
  runCopies();                                                                 \
  i = 0;                                                                       \
  do                                                                           \
  :: i < WARPS -> run Multiply(i / PROCESSES_OF_GROUP, i); running++; i++      \
  :: else -> break                                                             \
  od

/* What must not be left behind when all threads have ended. */
inline endBlock() {
  running == 0 ->
  d_step {
    i = 0;
    do
    :: i < STAGES + OWN_STAGES ->
       assert(memory[i].on == 0 && memory[i].left == 0);
       i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < BARRIERS -> assert(barriers[i].bytes == 0); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < MEETINGS -> assert(meetings[i].came == 0); i++
    :: else -> break
    od
  }
}
