# Writes the generated pass pages INPUTS as one C++ raw string literal OUTPUT.
set(text "")
foreach(input IN LISTS INPUTS)
  file(READ "${input}" page)
  string(APPEND text "${page}")
endforeach()
string(REGEX REPLACE "<!--[^>]*-->\n*" "" text "${text}")
file(WRITE "${OUTPUT}" "R\"FA4HELP(${text})FA4HELP\"\n")
