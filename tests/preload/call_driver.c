/* Calls a few driver functions as a program that loads libcuda.so.1 by name would, and prints what it got:
   the results, the library that answered, and the number of threads. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>

typedef int (*Init)(unsigned);
typedef int (*Alloc)(unsigned long long*, unsigned long);
typedef int (*Free)(unsigned long long);

static int threads(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (readdir(tasks) != NULL) ++count;
  closedir(tasks);
  return count - 2;
}

int main(int argc, char** argv) {
  void* driver = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW);
  if (driver == NULL) {
    printf("no libcuda\n");
    return 0;
  }
  unsigned long long address = 0;
  printf("cuInit %d\n", ((Init)dlsym(driver, "cuInit"))(0));
  printf("cuMemAlloc_v2 %d\n", ((Alloc)dlsym(driver, "cuMemAlloc_v2"))(&address, 4096));
  printf("cuMemFree_v2 %d\n", ((Free)dlsym(driver, "cuMemFree_v2"))(address));
  printf("threads %d\n", threads());
  return 0;
}
