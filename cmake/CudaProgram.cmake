# tensorpager_cuda_program(NAME SOURCES file... [LIBRARIES target...] [OPTIONS nvcc-option...] [OUTPUT_DIRECTORY dir])
# A CUDA program as a user would build it: nvcc, the shared runtime, one PTX image. Not CMake's CUDA language, which would ask for a
# whole toolkit. No run path: LD_LIBRARY_PATH decides which libcudart.so.13 it runs on, the stand-in or NVIDIA's.
# Any libcudart.so.13 serves to link against; the toolkit's is preferred, the stand-in where there is none.
find_library(TENSORPAGER_CUDART NAMES libcudart.so.13 libcudart.so
    HINTS ${TENSORPAGER_CUDA_ROOT} PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib NO_DEFAULT_PATH)

set(TENSORPAGER_NVCC_FLAGS -cudart shared -std=c++17 -O2 -gencode arch=compute_75,code=compute_75 -no-compress)

function(tensorpager_cuda_program name)
  cmake_parse_arguments(arg "" "OUTPUT_DIRECTORY" "SOURCES;LIBRARIES;OPTIONS" ${ARGN})
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  set(objects)
  foreach(source ${arg_SOURCES})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(GET source STEM stem)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}_${stem}.o)
    add_custom_command(OUTPUT ${object}
        COMMAND ${TENSORPAGER_NVCC} ${TENSORPAGER_NVCC_FLAGS} ${arg_OPTIONS} -I${PROJECT_SOURCE_DIR}
                -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
        DEPENDS ${source} DEPFILE ${object}.d
        COMMENT "nvcc ${name}: ${stem}.cu" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  add_executable(${name} ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX SKIP_BUILD_RPATH ON
      RUNTIME_OUTPUT_DIRECTORY ${arg_OUTPUT_DIRECTORY})
  if(TENSORPAGER_CUDART)
    target_link_libraries(${name} PRIVATE ${TENSORPAGER_CUDART} ${arg_LIBRARIES})
  else()
    target_link_libraries(${name} PRIVATE simgpu_cudart ${arg_LIBRARIES})
  endif()
endfunction()
