//===- gemm_benchmark.cpp - GEMMs against the peak ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Times our GEMMs, those of oneDNN where it was found, and the
/// processor's peak (a loop of multiply-adds on registers), in turns, and
/// prints medians of the ratios: the speed of a shared machine varies too
/// much for anything else. `gemm_benchmark [THREADS [ROUNDS [cpu [ISA]]]]`;
/// with `cpu` the clock is the processor time of the process over its threads,
/// which other programs on the same cores disturb less than they do the wall
/// clock. ISA is one of HOCKET_CPU_ISA's; oneDNN has ONEDNN_MAX_CPU_ISA for
/// that.
///
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Gemm.h"
#include "test/kernels/TestWorkers.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <unordered_map>

#ifdef HOCKET_ONEDNN
#include <dnnl.hpp>
#endif

using namespace hocket::kernels;
using namespace hocket::kernels::test;

namespace hocket::benchmarks {
double multiplyAdds(int64_t rounds, Isa isa); // Peak.cpp
} // namespace hocket::benchmarks

namespace {

/// What time is measured with.
struct Clock {
  bool processor = false;
  int threads = 1;

  double now() const {
    timespec t;
    clock_gettime(processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    double seconds =
        static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
    return processor ? seconds / threads : seconds;
  }
  double time(const std::function<void()> &work) const {
    double start = now();
    work();
    return now() - start;
  }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// FLOP/s of all workers on registers alone.
double peak(Workers &workers, const Clock &clock) {
  std::atomic<int64_t> flops = 0;
  auto task = [&](int64_t, int) {
    flops += static_cast<int64_t>(
        hocket::benchmarks::multiplyAdds(200000, workers.isa()));
  };
  double time = clock.time([&] { workers.run(workers.count(), task); });
  return static_cast<double>(flops) / time;
}

struct Shape {
  const char *name;
  int64_t m, n, k;
  bool transposeA, transposeB;
  DType dtype;
  bool packed;
};

#ifdef HOCKET_ONEDNN
/// oneDNN's own GEMM of the same operands, in its plain row-major form, or
/// with the weights in the form it likes best.
class OneDnn {
public:
  OneDnn(const Shape &s, void *a, void *b, void *d)
      : engine(dnnl::engine::kind::cpu, 0), stream(engine) {
    using Memory = dnnl::memory;
    auto type = s.dtype == DType::F32 ? Memory::data_type::f32
                                      : Memory::data_type::bf16;
    auto ab = Memory::format_tag::ab, ba = Memory::format_tag::ba;
    Memory::desc source({s.m, s.k}, type, s.transposeA ? ba : ab);
    Memory::desc plain({s.k, s.n}, type, s.transposeB ? ba : ab);
    Memory::desc any({s.k, s.n}, type, Memory::format_tag::any);
    Memory::desc result({s.m, s.n}, type, ab);
    dnnl::matmul::primitive_desc description(
        dnnl::matmul::desc(source, s.packed ? any : plain, result), engine);
    gemm = dnnl::matmul(description);
    Memory weights(plain, engine, b),
        packed(description.weights_desc(), engine);
    dnnl::reorder(weights, packed).execute(stream, weights, packed);
    stream.wait();
    arguments = {{DNNL_ARG_SRC, Memory(source, engine, a)},
                 {DNNL_ARG_WEIGHTS, s.packed ? packed : weights},
                 {DNNL_ARG_DST, Memory(result, engine, d)}};
  }
  void run() {
    gemm.execute(stream, arguments);
    stream.wait();
  }

private:
  dnnl::engine engine;
  dnnl::stream stream;
  dnnl::matmul gemm;
  std::unordered_map<int, dnnl::memory> arguments;
};
#endif

void measure(const Shape &s, Workers &workers, int rounds, const Clock &clock) {
  Array a = randomArray(s.dtype, s.m * s.k, 1);
  Array b = randomArray(s.dtype, s.k * s.n, 2);
  Array d(s.dtype, s.m * s.n);
  GemmArguments args;
  args.m = s.m, args.n = s.n, args.k = s.k;
  args.transposeA = s.transposeA, args.transposeB = s.transposeB;
  args.a = a.view(), args.b = b.view(), args.d = d.view();
  Array packed(s.dtype, packedBytes(s.dtype, s.n, s.k) / bytesOf(s.dtype) + 64);
  auto address = reinterpret_cast<uintptr_t>(packed.view().data) + 63;
  GemmPackArguments pack{s.n, s.k, s.transposeB, b.view(),
                         reinterpret_cast<void *>(address / 64 * 64)};
  if (s.packed && !gemmPack(pack, workers)) {
    args.b.data = pack.packed;
    args.packedB = true;
  }
#ifdef HOCKET_ONEDNN
  OneDnn other(s, a.view().data, b.view().data, d.view().data);
#endif
  double flops =
      2.0 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k);
  std::vector<double> peaks, speeds, shares, ratios;
  for (int round = 0; round < rounds + 1; ++round) {
    double top = peak(workers, clock);
    KernelError error = nullptr;
    double ours = flops / clock.time([&] { error = gemm(args, workers); });
    if (error) {
      std::printf("%s: %s\n", s.name, error);
      return;
    }
    double theirs = 0;
#ifdef HOCKET_ONEDNN
    theirs = flops / clock.time([&] { other.run(); });
#endif
    if (round == 0)
      continue; // caches and pages are cold
    peaks.push_back(top), speeds.push_back(ours);
    shares.push_back(ours / top), ratios.push_back(theirs / ours);
  }
  std::printf("%-26s %-4s %7.1f %7.1f %6.0f %%", s.name,
              s.dtype == DType::F32 ? "f32" : "bf16", median(peaks) * 1e-9,
              median(speeds) * 1e-9, median(shares) * 100);
#ifdef HOCKET_ONEDNN
  std::printf(" %9.2f", median(ratios));
#endif
  std::printf("\n");
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  int threads = argc > 1
                    ? std::atoi(argv[1])
                    : static_cast<int>(std::thread::hardware_concurrency());
  int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  Isa isa = bestIsa();
  if (argc > 4 && (!parseIsa(argv[4], isa) || !cpuSupports(isa))) {
    std::fprintf(stderr, "gemm_benchmark: no instruction set '%s' here\n",
                 argv[4]);
    return 2;
  }
  TestWorkers workers(std::max(threads, 1), isa);
  Clock clock{argc > 3 && std::string_view(argv[3]) == "cpu", workers.count()};
  std::printf("%d threads, %s\n", workers.count(),
              std::string(nameOf(workers.isa())).c_str());
  std::printf("%-26s %-4s %7s %7s %8s %9s\n", "shape", "type", "peak", "ours",
              "share",
#ifdef HOCKET_ONEDNN
              "oneDNN/us"
#else
              ""
#endif
  );
  for (DType t : {DType::F32, DType::BF16})
    for (const Shape &s : {
             Shape{"1024x768x768", 1024, 768, 768, false, false, t, false},
             Shape{"1024x768x768 packed", 1024, 768, 768, false, false, t,
                   true},
             Shape{"1024x768x768 B^T", 1024, 768, 768, false, true, t, false},
             Shape{"1024x3072x768 packed", 1024, 3072, 768, false, false, t,
                   true},
             Shape{"1024x768x3072 packed", 1024, 768, 3072, false, false, t,
                   true},
             Shape{"768x3072x1024 A^T", 768, 3072, 1024, true, false, t, false},
             Shape{"1024x50304x768 packed", 1024, 50304, 768, false, true, t,
                   true},
             Shape{"50304x768x1024 A^T", 50304, 768, 1024, true, false, t,
                   false},
             Shape{"1024x768x50304", 1024, 768, 50304, false, false, t, false},
             Shape{"16x3072x768 packed", 16, 3072, 768, false, false, t, true},
             Shape{"1x3072x768 packed", 1, 3072, 768, false, false, t, true},
         })
      measure(s, workers, rounds, clock);
  return 0;
}
