//===- DoctorCommand.cpp - `hocket doctor` --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/DoctorCommand.h"

#include "base/CacheFolder.h"
#include "base/CacheSize.h"
#include "base/File.h"
#include "base/Format.h"
#include "base/Quantity.h"
#include "base/WorkerPool.h"
#include "base/json/JsonLines.h"
#include "runtime/comm/mpi/MpiTransport.h"
#include "runtime/comm/nccl/NcclApi.h"
#include "runtime/hal/drivers/cpu/CpuFeatures.h"
#include "runtime/hal/drivers/cuda/CublasLtApi.h"
#include "runtime/hal/drivers/cuda/CudaDevice.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/tools/command_line/CommandLine.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace hocket;

//===----------------------------------------------------------------------===//
// Looking
//===----------------------------------------------------------------------===//

static void addProcessor(std::vector<Finding> &findings) {
  using kernels::Isa;
  findings.push_back({"processor", true, false, hal::cpuModelName()});
  struct {
    const char *name;
    Isa isa;
    bool needed;
    const char *use;
  } sets[] = {
      {"AVX2, FMA, F16C", Isa::Avx2, true, "the least that kernels run on"},
      {"AVX-512", Isa::Avx512, false, "wider kernels"},
      {"AVX-512 BF16", Isa::Avx512Bf16, false, "bf16 GEMMs in pairs"},
      {"AMX bf16", Isa::Amx, false, "bf16 GEMMs in tiles"}};
  for (const auto &set : sets)
    findings.push_back(
        {set.name, kernels::cpuSupports(set.isa), set.needed, set.use});
  auto isa = hal::chooseIsa();
  findings.push_back({"instruction set in use", isa.ok(), true,
                      isa.ok() ? std::string(kernels::nameOf(*isa)) +
                                     " (HOCKET_CPU_ISA=avx2|avx512|"
                                     "avx512_bf16|amx caps it)"
                               : isa.status().message()});
  auto threads = WorkerPool::defaultCount();
  findings.push_back(
      {"threads", threads.ok(), true,
       threads.ok() ? formatText("%u (HOCKET_NUM_THREADS sets it)", *threads)
                    : threads.status().message()});
}

/// A line's number in /proc/meminfo, in bytes; 0 if there is none.
static uint64_t memoryInfo(const std::string &key) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  uint64_t kilobytes = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (words >> name >> kilobytes && name == key + ":")
      return kilobytes * 1024;
  }
  return 0;
}

static void addMemory(std::vector<Finding> &findings) {
  findings.push_back({"memory", true, false,
                      formatBytes(hal::physicalMemoryBytes()) + ", " +
                          formatBytes(memoryInfo("MemAvailable")) +
                          " available"});
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string setting;
  std::getline(file, setting);
  bool usable =
      setting.find("[never]") == std::string::npos && !setting.empty();
  findings.push_back({"transparent huge pages", usable, false,
                      usable ? setting : "fewer page faults in large arenas"});
}

/// Where the program `name` is in PATH, or "".
static std::string findProgram(const std::string &name) {
  const char *path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = folder + "/" + name;
    struct stat info;
    if (::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return "";
}

static void addLauncher(std::vector<Finding> &findings) {
  std::string where;
  for (const char *program : {"mpirun", "srun"})
    if (where.empty())
      where = findProgram(program);
  findings.push_back(
      {"MPI launcher", !where.empty(), false,
       where.empty() ? "several machines; Debian: openmpi-bin" : where});
}

/// The first of `names` that the loader finds, or "".
static std::string findLibrary(const std::vector<std::string> &names) {
  // Left loaded: not every vendor's library survives being unloaded.
  for (const std::string &name : names)
    if (::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL))
      return name;
  return "";
}

static void addMpiModule(std::vector<Finding> &findings) {
  std::string path = comm::findMpiModule();
  findings.push_back({"module for MPI", !path.empty(), false,
                      path.empty() ? "ranks started by mpirun; built where "
                                     "CMake finds MPI (Debian: libopenmpi-dev)"
                                   : path});
}

static std::string onOneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

static void addNvrtc(std::vector<Finding> &findings) {
  auto library = nvrtc::findLibrary();
  auto version = nvrtc::version();
  if (!version.ok()) {
    findings.push_back({"NVRTC", false, false,
                        "kernels for NVIDIA GPUs (HOCKET_NVRTC may name the "
                        "library)"});
    return;
  }
  std::string which = *library + ", version " + *version;
  Status compiled = nvrtc::tryCompiling();
  findings.push_back({"NVRTC", compiled.ok(), false,
                      compiled.ok() ? which + ", compiles"
                                    : which + " does not compile: " +
                                          onOneLine(compiled.message())});
}

static void addGpus(std::vector<Finding> &findings) {
  auto gpus = hal::listGpus();
  findings.push_back({"CUDA driver", gpus.ok(), false,
                      gpus.ok() ? formatText("%zu GPUs", gpus->size())
                                : gpus.status().message()});
  for (size_t i = 0; gpus.ok() && i < gpus->size(); ++i) {
    const hal::GpuInfo &gpu = (*gpus)[i];
    findings.push_back({formatText("GPU %zu", i), true, false,
                        gpu.name + ", " + gpu.architecture + ", " +
                            formatBytes(gpu.memoryBytes)});
  }
  auto cublasLt = hal::cuda::cublasLtApi();
  findings.push_back(
      {"cuBLASLt", cublasLt.ok(), false,
       cublasLt.ok() ? (*cublasLt)->path + ", version " + (*cublasLt)->version
                     : "GEMMs on NVIDIA GPUs (HOCKET_CUBLASLT "
                       "may name the library)"});
  auto nccl = comm::nccl::ncclApi();
  findings.push_back(
      {"NCCL", nccl.ok(), false,
       nccl.ok() ? (*nccl)->path + ", version " + (*nccl)->version +
                       "; messages between GPUs go through it" +
                       ((*nccl)->canHoldToIssueOrder()
                            ? ", held to the order of issue where that ends"
                        : (*nccl)->canLimitBlocks()
                            ? ", not ordered between communicators, but with "
                              "room for all"
                            : ", not ordered between communicators: install "
                              "2.26 or later")
                 : "messages between GPUs go through host memory (HOCKET_NCCL "
                   "may name the library)"});
}

static void addCache(std::vector<Finding> &findings) {
  auto folder = openCacheFolder();
  auto limit = cacheLimit();
  std::string detail;
  if (folder.ok() && limit.ok()) {
    CacheContents contents = measureCache(*folder);
    detail = *folder + ": " + formatBytes(contents.bytes) + " in " +
             formatNoun(contents.files, "file") + ", " +
             (*limit ? "at most " + formatBytes(*limit) : "without a limit") +
             " (HOCKET_CACHE, HOCKET_CACHE_SIZE)";
  } else {
    detail = folder.ok() ? limit.status().message() : folder.status().message();
  }
  findings.push_back({"cache", folder.ok() && limit.ok(), false, detail});
}

static void addLibraries(std::vector<Finding> &findings) {
  struct {
    const char *name;
    std::vector<std::string> libraries;
    const char *missing;
  } rows[] = {{"MPI library",
               {"libmpi.so.40", "libmpi.so.12"},
               "several machines; Debian: libopenmpi3"}};
  for (const auto &row : rows) {
    std::string found = findLibrary(row.libraries);
    findings.push_back(
        {row.name, !found.empty(), false, found.empty() ? row.missing : found});
  }
}

std::vector<Finding> hocket::examineMachine() {
  std::vector<Finding> findings;
  addProcessor(findings);
  addMemory(findings);
  addCache(findings);
  addLauncher(findings);
  addLibraries(findings);
  addNvrtc(findings);
  addGpus(findings);
  addMpiModule(findings);
  return findings;
}

//===----------------------------------------------------------------------===//
// Telling
//===----------------------------------------------------------------------===//

static void printText(const std::vector<Finding> &findings) {
  std::vector<std::vector<std::string>> rows;
  for (const Finding &finding : findings)
    rows.push_back({finding.name,
                    finding.found    ? "found"
                    : finding.needed ? "MISSING"
                                     : "missing",
                    finding.detail});
  std::cout << formatTable({"", "", ""}, rows);
}

static void printJson(const std::vector<Finding> &findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding &finding : findings)
    list.push_back({{"name", finding.name},
                    {"found", finding.found},
                    {"needed", finding.needed},
                    {"detail", finding.detail}});
  std::cout << toJsonText(list, 2) << "\n";
}

static Status run(bool json) {
  std::vector<Finding> findings = examineMachine();
  json ? printJson(findings) : printText(findings);
  for (const Finding &finding : findings)
    if (finding.needed && !finding.found)
      return failedPrecondition("this machine cannot train on its processor: " +
                                finding.name + " is missing");
  return okStatus();
}

void hocket::registerDoctor(CLI::App &app, Status &result) {
  auto json = std::make_shared<bool>(false);
  CLI::App *command = addCommand(
      app, "doctor", "Show what this machine has, and what is missing");
  command->add_flag("--json", *json, "Print the findings as JSON");
  command->footer("Example:\n  hocket doctor");
  command->callback([json, &result] { result = run(*json); });
}
