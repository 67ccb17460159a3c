# Build rules shared by every fa4 component.

# Warnings, sanitizers and code-generation flags: an interface library that
# every target of ours links privately.
add_library(fa4_options INTERFACE)
target_compile_options(fa4_options INTERFACE
  -Wall -Wextra -Wno-unused-parameter -Wnon-virtual-dtor -Woverloaded-virtual
  -fvisibility-inlines-hidden)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(fa4_options INTERFACE
    -Wcovered-switch-default -Wimplicit-fallthrough -Wstring-conversion
    # Lets ccache reuse precompiled headers and what was compiled with them.
    "SHELL:-Xclang -fno-pch-timestamp")
endif()
if(FA4_WERROR)
  target_compile_options(fa4_options INTERFACE -Werror)
endif()
if(FA4_SANITIZE)
  target_compile_options(fa4_options INTERFACE
    -fsanitize=${FA4_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(fa4_options INTERFACE -fsanitize=${FA4_SANITIZE})
endif()

# Who uses the installed package links what MLIR and LLVM call their shared
# libraries.
function(fa4_link_names result)
  foreach(library MLIR LLVM)
    string(TOLOWER "fa4_${library}" name)
    list(TRANSFORM ARGN REPLACE "^${library}$"
      "$<BUILD_INTERFACE:${name}>$<INSTALL_INTERFACE:${library}>")
  endforeach()
  set(${result} ${ARGN} PARENT_SCOPE)
endfunction()

# fa4_add_library(NAME SOURCES... [DEPENDS tablegen targets] [LINK libraries]
#                 [PCH target])
# A static, position-independent library. Nothing here links MLIR or LLVM by
# itself: components name what they use (fa4-sim, for one, needs LLVM only). With
# PCH NONE a library is compiled without their headers, too.
function(fa4_add_library name)
  cmake_parse_arguments(ARG "" "PCH" "DEPENDS;LINK" ${ARGN})
  fa4_default(ARG_PCH FA4LLVMPCH)
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  fa4_link_names(links ${ARG_LINK})
  target_link_libraries(${name}
    PRIVATE $<BUILD_INTERFACE:fa4_options> PUBLIC ${links})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(NOT ARG_PCH STREQUAL "NONE")
    fa4_use_pch(${name} ${ARG_PCH})
  endif()
  fa4_export_library(${name} ${ARG_PCH})
endfunction()

# fa4_export_library(NAME PCH): a library of lib/ is part of the installed
# package, FA4X as the target FA4::X. What is written against MLIR has MLIR's
# precompiled header; all else needs LLVM only, and is there for who has no MLIR.
function(fa4_export_library name pch)
  if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/lib(/|$)")
    return()
  endif()
  if(pch STREQUAL "FA4MLIRPCH")
    set(component Compiler)
  else()
    set(component Simulator)
  endif()
  string(REGEX REPLACE "^FA4" "" exported "${name}")
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${exported})
  install(TARGETS ${name} EXPORT FA4${component}
    ARCHIVE DESTINATION lib INCLUDES DESTINATION include)
endfunction()

# fa4_mlir and fa4_llvm: what LINK of MLIR and LLVM means. The shared libraries,
# but for an executable with the property FA4_STATIC_LLVM the archives. The
# imported targets of the archives are not used, as they lead to the shared
# libraries; lld takes archives in any order.
file(GLOB FA4_MLIR_ARCHIVES "${LLVM_LIBRARY_DIR}/libMLIR*.a")
list(FILTER FA4_MLIR_ARCHIVES EXCLUDE REGEX "/libMLIR(CAPI|Test)")
file(GLOB FA4_LLVM_ARCHIVES "${LLVM_LIBRARY_DIR}/libLLVM*.a")
# Of what LLVM needs only the libraries themselves are sure to be there.
find_library(FA4_ZLIB NAMES z libz.so.1)
find_library(FA4_ZSTD NAMES zstd libzstd.so.1)
if(FA4_MLIR_ARCHIVES AND FA4_LLVM_ARCHIVES AND FA4_ZLIB AND FA4_ZSTD AND
   CMAKE_EXE_LINKER_FLAGS MATCHES "lld" AND NOT FA4_SANITIZE)
  set(FA4_HAS_ARCHIVES ON)
endif()
# A shared libstdc++ would have the dynamic linker write into the table of
# virtual functions and the type information of each class.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a
  OUTPUT_VARIABLE FA4_LIBSTDCXX OUTPUT_STRIP_TRAILING_WHITESPACE)
if(IS_ABSOLUTE "${FA4_LIBSTDCXX}")
  set(FA4_STATIC_CXX -static-libstdc++ -static-libgcc)
endif()
foreach(library MLIR LLVM)
  string(TOLOWER "fa4_${library}" name)
  set(archives ${FA4_${library}_ARCHIVES})
  if(library STREQUAL "LLVM")
    list(APPEND archives "${FA4_ZLIB}" "${FA4_ZSTD}")
  endif()
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE
    "$<IF:$<BOOL:$<TARGET_PROPERTY:FA4_STATIC_LLVM>>,${archives},${library}>")
endforeach()

# fa4_add_tool(NAME SOURCES... [LINK libraries] [PCH target] [STATIC]
#              [NO_INSTALL])
# STATIC: MLIR and LLVM become part of it, where there are archives of them. To
# relocate the shared libraries takes 20 ms a run, and the tests start such tools
# some thousand times.
function(fa4_add_tool name)
  cmake_parse_arguments(ARG "STATIC;NO_INSTALL" "PCH" "DEPENDS;LINK" ${ARGN})
  fa4_default(ARG_PCH FA4LLVMPCH)
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  fa4_link_names(links ${ARG_LINK})
  target_link_libraries(${name} PRIVATE fa4_options ${links})
  if(ARG_STATIC AND FA4_HAS_ARCHIVES)
    set_target_properties(${name} PROPERTIES FA4_STATIC_LLVM ON)
    # At a fixed address: nothing to relocate. The names of functions stay, for
    # the stack of a crash.
    target_link_options(${name} PRIVATE -no-pie LINKER:--gc-sections LINKER:-S
      ${FA4_STATIC_CXX})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  fa4_use_pch(${name} ${ARG_PCH})
  if(NOT ARG_NO_INSTALL)
    install(TARGETS ${name} RUNTIME DESTINATION bin)
  endif()
endfunction()

# Compile a target against the precompiled header that a library owns
# (fa4_add_pch). The header is compiled with -fPIC, which executables must
# then be too: CMake's property would give them -fPIE.
function(fa4_use_pch target owner)
  target_precompile_headers(${target} REUSE_FROM ${owner})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

# fa4_default(VARIABLE VALUE): what an option is that was not given.
function(fa4_default variable value)
  if(NOT ${variable})
    set(${variable} ${value} PARENT_SCOPE)
  endif()
endfunction()

# fa4_add_pch(NAME HEADERS... [LINK libraries]): an otherwise empty library that
# owns one precompiled header.
function(fa4_add_pch name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" "")
  add_library(${name} STATIC "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PRIVATE fa4_options ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# fa4_add_doc(NAME source.td GENERATOR-FLAGS...): reference page
# <build>/docs/NAME.md, which docs/reference/NAME.md must equal (a test
# compares them; scripts/update-docs copies).
add_custom_target(fa4-doc ALL)
function(fa4_add_doc name source)
  set(LLVM_TARGET_DEFINITIONS ${source})
  tablegen(MLIR ${name}.md ${ARGN})
  fa4_publish_doc(${name} "${CMAKE_CURRENT_BINARY_DIR}/${name}.md")
endfunction()

# fa4_add_op_doc(NAME TITLE source.td DIALECT FILES...): the page of the
# operations of a dialect that FILES define, under a title. `source.td` includes
# all of them.
function(fa4_add_op_doc name title source dialect)
  set(mnemonics)
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REGEX MATCHALL "\ndef [A-Za-z0-9_]+ : [A-Za-z_]+Op<\"[a-z0-9_]+\""
      definitions "${text}")
    list(TRANSFORM definitions REPLACE ".*\"([a-z0-9_]+)\"" "\\1")
    list(APPEND mnemonics ${definitions})
  endforeach()
  list(JOIN mnemonics "|" any)
  # LLVM's tablegen() hands the characters of the expression to a shell.
  get_directory_property(folders INCLUDE_DIRECTORIES)
  list(TRANSFORM folders PREPEND -I)
  set(operations "${CMAKE_CURRENT_BINARY_DIR}/${name}.md")
  add_custom_command(OUTPUT "${operations}"
    COMMAND ${MLIR_TABLEGEN_EXE} -gen-op-doc -dialect=${dialect}
            "-op-include-regex=^${dialect}[.](${any})$" ${folders}
            "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
            -o "${operations}" -d "${operations}.d"
    DEPENDS ${source} ${ARGN}
    DEPFILE "${operations}.d"
    VERBATIM)
  set(heading "${CMAKE_CURRENT_BINARY_DIR}/${name}.heading.md")
  file(GENERATE OUTPUT "${heading}"
    CONTENT "# '${dialect}' Dialect: ${title}\n\n")
  fa4_publish_doc(${name} "${heading}" "${operations}")
endfunction()

# fa4_publish_doc(NAME PARTS...): <build>/docs/NAME.md, of these files.
function(fa4_publish_doc name)
  set(page "${CMAKE_BINARY_DIR}/docs/${name}.md")
  add_custom_command(OUTPUT "${page}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_BINARY_DIR}/docs"
    COMMAND ${CMAKE_COMMAND} -E cat ${ARGN} > "${page}"
    DEPENDS ${ARGN}
    VERBATIM)
  add_custom_target(fa4-doc-${name} DEPENDS "${page}")
  add_dependencies(fa4-doc fa4-doc-${name})
endfunction()
