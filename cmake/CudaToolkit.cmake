# Headers and nvcc of a CUDA toolkit: the machine's own, or the one that cmake/bootstrap.sh put into build/cuda.
find_program(TENSORPAGER_NVCC nvcc
    HINTS ${PROJECT_SOURCE_DIR}/build/cuda/bin ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda/bin REQUIRED)
get_filename_component(nvcc_bin_dir ${TENSORPAGER_NVCC} DIRECTORY)
get_filename_component(TENSORPAGER_CUDA_ROOT ${nvcc_bin_dir} DIRECTORY)
find_path(TENSORPAGER_CUDA_INCLUDE_DIR cudaTypedefs.h
    HINTS ${TENSORPAGER_CUDA_ROOT}/include ${TENSORPAGER_CUDA_ROOT}/targets/x86_64-linux/include REQUIRED)

add_library(tensorpager_cuda_headers INTERFACE)
target_include_directories(tensorpager_cuda_headers SYSTEM INTERFACE ${TENSORPAGER_CUDA_INCLUDE_DIR})
