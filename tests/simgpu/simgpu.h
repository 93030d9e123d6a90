#pragma once

/* What tests ask the simulated device itself: exported by its libcuda.so.1 beside the driver API. Safe from any thread;
 * none is a driver call: nothing is logged, counted or charged to the virtual clock. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The virtual host clock, in nanoseconds. */
uint64_t simgpu_virtual_ns(void);
/** Device memory that exists now, and the most that ever did: contexts, code, pools, chunks. 0 before cuInit. */
uint64_t simgpu_used_bytes(void);
uint64_t simgpu_high_water_bytes(void);
/** Uses of non-resident bytes and other breaches of the protocol, so far. */
uint64_t simgpu_violations(void);
/** The line of one violation, NUL-terminated and cut to `bytes`; returns its full length, 0 when there is no such line.
 */
size_t simgpu_violation_line(uint64_t index, char* text, size_t bytes);
/** Counts what the program has not given back (allocations, pages locked, reservations, handles, streams, events,
 * modules) and describes it in one line as above. Not done at exit, since programs may leave things to the driver. */
uint64_t simgpu_leaks(char* text, size_t bytes);
/** Writes the statistics (schema simgpu.stats/1) now; 0 on success. */
int simgpu_write_stats(const char* path);
/** Forgets everything, as a fresh process would; the environment is read again at the next call. Every handle and every
 * address becomes invalid. No other thread may be in the driver. */
void simgpu_reset(void);

#ifdef __cplusplus
}
#endif
