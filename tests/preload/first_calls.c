/* The first calls of the driver from eight threads at once, half of them from the constructor of a library that is being loaded,
   hence under the loader's lock. Prints how many were answered. Use: first_calls LATE_LIBRARY... (one library a thread) */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

extern int cuInit(unsigned);

static atomic_int waiting, answered;
static int threads;

static void meet(void) {
  ++waiting;
  while (waiting < threads) {
  }
}

static void* call(void* unused) {
  meet();
  answered += cuInit(0) == 0;
  return unused;
}

static void* load(void* path) {
  meet();
  answered += dlopen(path, RTLD_NOW) != NULL;
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t ids[16];
  threads = 2 * (argc - 1);
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, i % 2 ? call : load, argv[1 + i / 2]);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  printf("%d\n", answered);
  return 0;
}
