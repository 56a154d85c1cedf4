//===- MpiModule.cpp - The module that is linked with MPI -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiTable.h"

#include <cstdio>
#include <mpi.h>
#include <mutex>
#include <vector>

namespace {

std::mutex channelsMutex;
std::vector<MPI_Comm> channels;

MPI_Comm channelOf(int index) {
  std::lock_guard lock(channelsMutex);
  return channels[size_t(index)];
}

struct Request {
  MPI_Request handle = MPI_REQUEST_NULL;
};

int start(int *threads) {
  int provided = MPI_THREAD_SINGLE;
  int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  *threads = provided == MPI_THREAD_MULTIPLE;
  if (code == MPI_SUCCESS)
    code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return code;
}

int rank(int *rank) { return MPI_Comm_rank(MPI_COMM_WORLD, rank); }
int size(int *size) { return MPI_Comm_size(MPI_COMM_WORLD, size); }

int split(int color, int place, int *channel) {
  MPI_Comm made = MPI_COMM_NULL;
  int code = MPI_Comm_split(MPI_COMM_WORLD, color < 0 ? MPI_UNDEFINED : color,
                            place, &made);
  *channel = -1;
  if (code != MPI_SUCCESS || made == MPI_COMM_NULL)
    return code;
  code = MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  std::lock_guard lock(channelsMutex);
  *channel = int(channels.size());
  channels.push_back(made);
  return code;
}

int send(int channel, int peer, const void *data, int bytes, int tag,
         void **request) {
  auto *started = new Request;
  *request = started;
  return MPI_Isend(data, bytes, MPI_BYTE, peer, tag, channelOf(channel),
                   &started->handle);
}

int receive(int channel, int peer, void *data, int bytes, int tag,
            void **request) {
  auto *started = new Request;
  *request = started;
  return MPI_Irecv(data, bytes, MPI_BYTE, peer, tag, channelOf(channel),
                   &started->handle);
}

int test(void *request, int *over, int *bytes) {
  auto *started = static_cast<Request *>(request);
  MPI_Status status;
  int code = MPI_Test(&started->handle, over, &status);
  if (code == MPI_SUCCESS && *over)
    code = MPI_Get_count(&status, MPI_BYTE, bytes);
  if (code != MPI_SUCCESS || *over)
    delete started;
  return code;
}

int tagLimit(int *limit) {
  int *value = nullptr, found = 0;
  int code = MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB,
                               static_cast<void *>(&value), &found);
  *limit = found ? *value : 32767; // What the standard promises.
  return code;
}

int finish() {
  for (MPI_Comm &channel : channels)
    MPI_Comm_free(&channel);
  channels.clear();
  return MPI_Finalize();
}

void describe(int code, char *text, size_t capacity) {
  char full[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, full, &length);
  std::snprintf(text, capacity, "%s", full);
}

} // namespace

extern "C" const HocketMpiTable *hocketMpiTable() {
  static const HocketMpiTable table = {hocketMpiTableVersion,
                                       start,
                                       rank,
                                       size,
                                       split,
                                       send,
                                       receive,
                                       test,
                                       tagLimit,
                                       finish,
                                       describe};
  return &table;
}
