set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Every target of ours links it.
add_library(tensorpager_flags INTERFACE)
target_compile_options(tensorpager_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
if(TENSORPAGER_WERROR)
  target_compile_options(tensorpager_flags INTERFACE -Werror)
endif()
if(TENSORPAGER_SANITIZE)
  target_compile_options(tensorpager_flags INTERFACE
      -fsanitize=${TENSORPAGER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tensorpager_flags INTERFACE -fsanitize=${TENSORPAGER_SANITIZE})
endif()
