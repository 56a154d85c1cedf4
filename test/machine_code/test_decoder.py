#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""machine_code.sass reads NVIDIA's machine code rightly: kernels whose content is
known are compiled for each architecture and counted. An NVRTC that encodes
otherwise fails here, before anything is said of Hocket's kernels."""

import pathlib
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder)
                for folder in ("", "tools")]  # fmt: skip

from machine_code import nvrtc, sass  # noqa: E402

COST = 10  # seconds
ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a")
HEAD = '#define KERNEL(name) extern "C" __global__ void __launch_bounds__(128) name\n'

# A kernel, and exactly what is to be found in it.
EVERYWHERE = {
    "nothing": ("() {}", {}),
    "oneLoad": ("(const float *x, float *y) { y[1] = x[0]; }", {"loads": 1, "stores": 1}),
    "fourLoads": (
        "(const int *x, int *y) { *y = x[0] + x[32] * x[64] * x[96]; }",
        {"loads": 4, "stores": 1},
    ),
    "wideLoad": (
        "(const int4 *x, int4 *y) { int4 a = *x; y[1] = a; }",
        {"loads": 1, "stores": 1},
    ),
    "generic": (
        """(int **x, int *y) {
  asm volatile("{ .reg .u32 a; ld.u32 a, [%0]; st.u32 [%1], a; }" :: "l"(*x), "l"(y));
}""",
        {"loads": 2, "stores": 1},
    ),
    "shared": (
        """(int *y) {
  __shared__ int tile[128];
  tile[threadIdx.x] = clock();
  __syncthreads();
  y[threadIdx.x] = tile[127 - threadIdx.x];
}""",
        {"stores": 1, "shared": 2, "barriers": 1},
    ),
    "copied": (
        """(const int4 *x, int4 *y) {
  __shared__ int4 tile[128];
  unsigned at = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(x));
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[threadIdx.x] = tile[threadIdx.x];
}""",
        {"loads": 1, "stores": 1, "shared": 1},
    ),
    "fragments": (
        """(int *y) {
  __shared__ int tile[1024];
  unsigned at = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x), r[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
  float d[4] = {};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%4, %5}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
  y[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}""",
        {"stores": 1, "shared": 1, "mma": 1},
    ),
}  # fmt: skip

# Numbers that must all live at the barrier, and more than a thread has registers.
SPILLING = """
extern "C" __global__ void __launch_bounds__(1024, 1) spilling(float *x) {
  float a[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) a[i] = x[i * 1024 + threadIdx.x];
  asm volatile("bar.sync 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < 96; ++i) x[i * 2048 + threadIdx.x] = a[i];
}
"""

# A loop of one load and one addition, and code around it with loads of its own.
LOOP = """
KERNEL(looping)(const float *x, float *y, int n) {
  float sum = x[1] * x[200];
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum = sum * x[300 + i];
  y[0] = sum;
}
"""

# MMAs of a warpgroup, and between them nothing or what reads their sums
# before they are waited for: the assembler then puts them in sequence.
GROUP = """
KERNEL(%s)(float *y, unsigned long long a, unsigned long long b) {
  float d[4] = {y[0], y[1], y[2], y[3]};
  asm volatile("wgmma.fence.sync.aligned;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) :: "memory");
%s
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) :: "memory");
  for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = d[i];
}
"""
PRODUCT = """
  asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; "
               "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
"""
ROLES = """
extern "C" __global__ void __launch_bounds__(384, 1) roles(float *x) {
  __shared__ unsigned long long barrier;
  if (__shfl_sync(~0u, threadIdx.x / 128, 0) == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    x[threadIdx.x] = x[threadIdx.x + 4096];
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    float a[128];
#pragma unroll
    for (int i = 0; i < 128; ++i) a[i] = x[i * 8192 + threadIdx.x];
    asm volatile("bar.sync 1, 256;" ::: "memory");
#pragma unroll
    for (int i = 0; i < 128; ++i) x[i * 16384 + threadIdx.x] = a[i];
  }
}
"""
BOX = """
KERNEL(box)(const __grid_constant__ ulong4 map0, unsigned at, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %2}], [%3];"
               :: "r"(at), "l"(&map0), "r"(0), "r"(barrier) : "memory");
}
"""
TOUCH = "d[0] += 1; y[9] = d[1];"


class DecoderTest(unittest.TestCase):
    """Skipped where there is no NVRTC, or where it does not know an architecture."""

    def setUp(self):
        if not nvrtc.is_there():
            self.skipTest("there is no NVRTC on this machine")

    def kernels(self, text):
        """(architecture, its kernels) for each that this NVRTC knows."""
        for arch in nvrtc.known(ARCHITECTURES):
            with self.subTest(arch=arch):
                yield arch, nvrtc.machine_code(HEAD + text, arch)

    def expect(self, found, wanted):
        found = {kind: n for kind, n in found.items() if kind != "instructions"}
        self.assertEqual(found, wanted, "machine code is encoded otherwise than "
                         "test/machine_code/sass.py has it")  # fmt: skip

    def test_what_is_counted(self):
        text = "".join(f"KERNEL({n}){body}\n" for n, (body, _) in EVERYWHERE.items())
        for _, kernels in self.kernels(text):
            for name, (_, wanted) in EVERYWHERE.items():
                with self.subTest(kernel=name):
                    self.expect(sass.counts(kernels[name].code), wanted)
                    self.assertEqual(kernels[name].spills, 0)

    def test_spills(self):
        for _, kernels in self.kernels(SPILLING):
            found = sass.counts(kernels["spilling"].code)
            self.assertEqual((found["loads"], found["stores"]), (96, 96))
            self.assertGreater(found["local"], 0)
            self.assertGreater(kernels["spilling"].spills, 0)
            self.assertLessEqual(kernels["spilling"].registers, 64)

    def test_loops(self):
        for arch, kernels in self.kernels(LOOP):
            code = kernels["looping"].code
            self.assertEqual(sass.counts(code)["loads"], 3)
            self.assertEqual(len(sass.loops(code, arch)), 1)
            iteration = sass.iteration(code, arch)
            self.expect(sass.counts(iteration), {"loads": 1})
            # A load, an MMA, an address, a count, a comparison, a branch.
            self.assertIn(len(iteration), range(5, 12))

    def test_warp_groups(self):
        text = GROUP % ("together", PRODUCT) + BOX
        text += GROUP % ("apart", PRODUCT + TOUCH + PRODUCT) + ROLES
        kernels = nvrtc.machine_code(HEAD + text, "sm_90a")
        together, apart, roles = (kernels[n] for n in ("together", "apart", "roles"))
        self.expect(sass.counts(together.code), {"wgmma": 1, "loads": 4, "stores": 4})
        self.assertEqual(together.complaints, ())
        self.assertEqual(sass.counts(apart.code)["wgmma"], 2)
        self.assertIn("serialized", " ".join(apart.complaints))
        self.expect(sass.counts(kernels["box"].code), {"loads": 1})
        self.expect(sass.counts(roles.code), {"setmaxnreg": 2, "barriers": 1,
                                              "loads": 129, "stores": 129})  # fmt: skip
        used = sass.registers_by_role(roles.code, "sm_90a")
        self.assertEqual(sorted(used), [24, 240])
        self.assertIn(used[24], range(3, 25))
        self.assertIn(used[240], range(129, 241))

    def test_what_is_kept(self):
        text = HEAD + "KERNEL(kept)(int *y) { y[threadIdx.x] = 7; }"
        image, _ = nvrtc.compile_source(text, "sm_90a")
        place = nvrtc.place_of(text, "sm_90a")
        self.assertNotEqual(place, nvrtc.place_of(text, "sm_80"))
        self.assertNotEqual(place, nvrtc.place_of(text + " ", "sm_90a"))
        for damage in (None, b"", place.name.encode(), image):
            if damage is not None:
                place.write_bytes(damage)
                self.assertIsNone(nvrtc.find(place))
            made, notes = nvrtc.compile_once(text, "sm_90a")
            self.assertEqual(made, image)
            # With the seconds that it took then.
            self.assertEqual(nvrtc.compile_once(text, "sm_90a"), (image, notes))
            self.assertEqual(nvrtc.find(place), notes.encode() + b"\0" + image)
        place.unlink()
        self.assertIsNone(nvrtc.find(place))


if __name__ == "__main__":
    unittest.main()
