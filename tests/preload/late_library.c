/* Calls the driver while it is being loaded, as cuBLAS does. */
extern int cuInit(unsigned);

__attribute__((constructor)) static void at_load(void) { cuInit(0); }
