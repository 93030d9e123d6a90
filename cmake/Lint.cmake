# Targets `format`, `format-check` and `tidy`; none is part of the build.
find_program(CLANG_FORMAT clang-format)
find_program(CLANG_TIDY clang-tidy)
file(GLOB_RECURSE tensorpager_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/include/*.h
    ${PROJECT_SOURCE_DIR}/policies/*.h ${PROJECT_SOURCE_DIR}/policies/*.cpp
    ${PROJECT_SOURCE_DIR}/runtime/*.h ${PROJECT_SOURCE_DIR}/runtime/*.cpp
    ${PROJECT_SOURCE_DIR}/interpose/*.h ${PROJECT_SOURCE_DIR}/interpose/*.cpp
    ${PROJECT_SOURCE_DIR}/profiler/*.h ${PROJECT_SOURCE_DIR}/profiler/*.cpp
    ${PROJECT_SOURCE_DIR}/tests/*.h ${PROJECT_SOURCE_DIR}/tests/*.cpp
    ${PROJECT_SOURCE_DIR}/bench/*.h ${PROJECT_SOURCE_DIR}/bench/*.cpp ${PROJECT_SOURCE_DIR}/bench/*.cu)
set(tensorpager_units ${tensorpager_sources})
list(FILTER tensorpager_units INCLUDE REGEX "\\.cpp$")
if(CLANG_FORMAT)
  add_custom_target(format COMMAND ${CLANG_FORMAT} -i ${tensorpager_sources} VERBATIM)
  add_custom_target(format-check COMMAND ${CLANG_FORMAT} --dry-run -Werror ${tensorpager_sources} VERBATIM)
endif()
if(CLANG_TIDY)
  add_custom_target(tidy COMMAND ${CLANG_TIDY} -p ${PROJECT_BINARY_DIR} --quiet ${tensorpager_units} VERBATIM)
endif()
