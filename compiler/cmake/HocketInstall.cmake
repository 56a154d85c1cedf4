# What `cmake --install` and `cpack -G DEB` take along.
#
#   Runtime      programs, man pages, completion, examples
#   Mpi          the module that programs load when MPI has started them
#   Development  headers, TableGen files and a CMake package, for passes that
#                are built outside of the tree
#
# A prefix can be moved: programs find what belongs to them from where they are,
# and libMLIR where Debian has it.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(HOCKET_PROGRAMS hocket hocket-opt hocket-translate hocket-lsp-server
    hocket-reduce hocket-solve hocket-runtime)
set(HOCKET_INCLUDES ${CMAKE_INSTALL_INCLUDEDIR}/hocket)
set(HOCKET_PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/Hocket)
set(HOCKET_SHARE ${CMAKE_INSTALL_DATADIR}/hocket)

set_target_properties(${HOCKET_PROGRAMS} PROPERTIES
  INSTALL_RPATH ${LLVM_LIBRARY_DIR})
# The module for MPI is looked for in ../lib of the programs.
install(TARGETS ${HOCKET_PROGRAMS} RUNTIME COMPONENT Runtime)
if(TARGET hocket_comm_mpi)
  install(TARGETS hocket_comm_mpi LIBRARY DESTINATION lib COMPONENT Mpi)
endif()

# Written when it is installed, by the program itself.
set(pages ${CMAKE_BINARY_DIR}/pages)
install(CODE "
  file(MAKE_DIRECTORY ${pages})
  execute_process(COMMAND $<TARGET_FILE:hocket> help --man ${pages}/man1
                  COMMAND_ERROR_IS_FATAL ANY)
  foreach(shell bash zsh)
    execute_process(COMMAND $<TARGET_FILE:hocket> completion \${shell}
                    OUTPUT_FILE ${pages}/\${shell} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()" COMPONENT Runtime)
install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR}
        COMPONENT Runtime)
install(FILES ${pages}/bash RENAME hocket COMPONENT Runtime
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${pages}/zsh RENAME _hocket COMPONENT Runtime
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(DIRECTORY examples DESTINATION ${HOCKET_SHARE} COMPONENT Runtime
        PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE COMPONENT Runtime
        DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# The root of the includes is the repository's root, here as there.
foreach(folder dialects passes base runtime/cluster kernels/reference)
  install(DIRECTORY ${folder}/ ${CMAKE_BINARY_DIR}/${folder}/
          DESTINATION ${HOCKET_INCLUDES}/${folder} COMPONENT Development
          FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
          PATTERN CMakeFiles EXCLUDE)
endforeach()
install(FILES compiler/cmake/InstalledStatistic.h COMPONENT Development
        DESTINATION ${HOCKET_INCLUDES}/compiler/cmake)

configure_package_config_file(compiler/cmake/HocketConfig.cmake.in
  ${CMAKE_BINARY_DIR}/HocketConfig.cmake INSTALL_DESTINATION ${HOCKET_PACKAGE}
  PATH_VARS HOCKET_INCLUDES)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/HocketConfigVersion.cmake
  COMPATIBILITY ExactVersion)
install(FILES ${CMAKE_BINARY_DIR}/HocketConfig.cmake
              ${CMAKE_BINARY_DIR}/HocketConfigVersion.cmake
        DESTINATION ${HOCKET_PACKAGE} COMPONENT Development)

# Debian packages: hocket, hocket-mpi and hocket-dev. Which libraries the first two
# need is read from their programs.
set(CPACK_PACKAGE_NAME hocket)
set(CPACK_PACKAGE_VENDOR Hocket)
set(CPACK_PACKAGE_CONTACT "Hocket's developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
    "Compiles transformers into training executables, and trains them")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL Runtime Development)
if(TARGET hocket_comm_mpi)
  list(APPEND CPACK_COMPONENTS_ALL Mpi)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${LLVM_LIBRARY_DIR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME hocket)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "python3, bible-kjv")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME hocket-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "hocket (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME hocket-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "hocket (= ${PROJECT_VERSION}), libmlir-19-dev, llvm-19-dev, mlir-19-tools")
set(CPACK_STRIP_FILES ON)
include(CPack)
