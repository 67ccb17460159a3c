//===- DriverModule.cpp - PTX images -------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "fa4/Simulator/Ptx/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cstring>

using namespace fa4::driver;
using llvm::StringRef;

/// What an image is instead of text; empty for text.
static StringRef machineCodeKind(const void *image) {
  uint32_t magic;
  std::memcpy(&magic, image, sizeof(magic));
  switch (magic) {
  case 0x464C457F: // "\x7fELF"
    return "a cubin";
  case 0xBA55ED50:
  case 0x466243B1: // What leads to one.
    return "a fatbin";
  }
  return "";
}

/// The kernels of a cubin: each has a section for its constants, whose name
/// ends in the kernel's. An image does not say how long it is, but its tables
/// do.
static std::vector<std::string> kernelsOfCubin(const void *image) {
  using namespace llvm::ELF;
  constexpr unsigned cudaMachine = 190;
  std::vector<std::string> names;
  const auto *bytes = static_cast<const uint8_t *>(image);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, EI_NIDENT);
  if (!header.checkMagic() || header.e_ident[EI_CLASS] != ELFCLASS64)
    return names;
  std::memcpy(&header, bytes, sizeof(header));
  if (header.e_machine != cudaMachine ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return names;
  auto section = [&](unsigned index) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + index * sizeof(section),
                sizeof(section));
    return section;
  };
  const auto *strings = reinterpret_cast<const char *>(bytes) +
                        section(header.e_shstrndx).sh_offset;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    StringRef name = strings + section(i).sh_name;
    if (name.consume_front(".nv.constant0."))
      names.push_back(name.str());
  }
  return names;
}

namespace {
/// What a program points at in place of a fatbin.
struct FatbinWrapper {
  static constexpr uint32_t magicNumber = 0x466243B1;
  uint32_t magic, version;
  const uint8_t *data;
};
struct FatbinHeader {
  uint32_t magic;
  uint16_t version, headerBytes;
  uint64_t bytes; ///< Of the entries behind it.
};
/// An entry: its header, then `bytes` of code.
struct FatbinEntry {
  enum Kind : uint16_t { Ptx = 1 };
  static constexpr uint64_t isCompressed = 0xA000; ///< By LZ4, by zstd.
  uint16_t kind, version;
  uint32_t headerBytes;
  uint64_t bytes;
  uint32_t compressedBytes, optionsOffset;
  uint16_t minor, major;
  uint32_t architecture; ///< 100 of sm_100a.
  uint32_t nameOffset, nameBytes;
  uint64_t flags;
};
} // namespace

/// The PTX in a fatbin for the newest architecture up to `chip`'s (100 of
/// sm_100a); empty if there is none, or if it is compressed.
static std::string ptxOfFatbin(const void *image, unsigned chip,
                               bool &isCompressed) {
  auto read = [](auto &to, const uint8_t *from) {
    std::memcpy(&to, from, sizeof(to));
  };
  const auto *at = static_cast<const uint8_t *>(image);
  FatbinWrapper wrapper;
  read(wrapper.magic, at);
  if (wrapper.magic == FatbinWrapper::magicNumber) {
    read(wrapper, at);
    at = wrapper.data;
  }
  FatbinHeader header;
  read(header, at);
  at += header.headerBytes;
  std::string text;
  unsigned newest = 0;
  FatbinEntry entry;
  for (const uint8_t *end = at + header.bytes; at + sizeof(entry) <= end;
       at += entry.headerBytes + entry.bytes) {
    read(entry, at);
    if (entry.kind != FatbinEntry::Ptx || entry.architecture > chip ||
        entry.architecture < newest)
      continue;
    isCompressed = entry.flags & FatbinEntry::isCompressed;
    newest = entry.architecture;
    const auto *code = reinterpret_cast<const char *>(at + entry.headerBytes);
    text = isCompressed ? "" : std::string(code, strnlen(code, entry.bytes));
  }
  return text;
}

CUresult Driver::load(const void *image, Module *&result) {
  auto module = std::make_unique<Module>();
  StringRef kind = machineCodeKind(image);
  bool isCompressed = false;
  std::string ptx;
  if (kind == "a fatbin") {
    auto [major, minor] = computeCapability();
    ptx = ptxOfFatbin(image, 10 * major + minor, isCompressed);
  }
  if (!ptx.empty()) {
    if (auto error = loadPtx(std::move(ptx), "", *module))
      return error;
  } else if (!kind.empty()) {
    if (settings.ptxFolders.empty())
      return fail(CUDA_ERROR_INVALID_IMAGE,
                  "the image is " + kind +
                      (isCompressed ? " whose PTX is compressed (nvcc "
                                      "-no-compress leaves it as text)"
                                    : "") +
                      ", and the simulator runs PTX text. Name the folders "
                      "that hold the PTX in FA4_DRIVER_PTX, or let the program "
                      "use fa4-driver's ptxas");
    module->isMachineCode = true;
    module->names = kernelsOfCubin(image);
  } else if (auto error =
                 loadPtx(static_cast<const char *>(image), "", *module)) {
    return error;
  }
  result = module.get();
  modules.push_back(std::move(module));
  return CUDA_SUCCESS;
}

CUresult Driver::loadPtx(std::string text, StringRef name, Module &module) {
  std::string file = name.str();
  if (file.empty())
    file = "module" + std::to_string(++loaded) + ".ptx";
  module.text = text;
  auto parsed =
      sim::ptx::parseModule(llvm::MemoryBuffer::getMemBufferCopy(text, file));
  if (!parsed)
    return fail(CUDA_ERROR_INVALID_PTX, llvm::toString(parsed.takeError()));
  module.source = *parsed;
  std::set<uint64_t> before;
  for (const auto &allocation : memory->allocations())
    before.insert(allocation->address);
  auto simulator = sim::Simulator::create(module.source, memory);
  for (const auto &allocation : memory->allocations())
    if (!before.count(allocation->address))
      // Variables of a module have a dot before their names.
      module.globals.emplace(StringRef(allocation->name).ltrim('.').str(),
                             allocation->address);
  if (!simulator) {
    releaseGlobals(module);
    return fail(CUDA_ERROR_INVALID_PTX, llvm::toString(simulator.takeError()));
  }
  module.simulator = std::move(*simulator);
  if (auto error = checkTarget(module)) {
    releaseGlobals(module);
    return error;
  }
  const sim::Program &program = module.simulator->program();
  for (const sim::EntryInfo &entry : program.entries) {
    auto kernel = std::make_unique<Kernel>();
    kernel->module = &module;
    kernel->name = program.functions[entry.function].name;
    kernel->entry = &entry;
    module.kernels.emplace(kernel->name, std::move(kernel));
  }
  return CUDA_SUCCESS;
}

/// PTX for sm_90a runs on sm_90a alone, that for sm_100f on its family, and
/// that for sm_90 on all later chips.
CUresult Driver::checkTarget(const Module &module) {
  const sim::Program &program = module.simulator->program();
  auto [major, minor] = computeCapability();
  unsigned chipNumber = unsigned(10 * major + minor),
           number = program.smVersion;
  bool runs = program.smSuffix == "a" ? number == chipNumber
              : program.smSuffix == "f"
                  ? number / 10 == unsigned(major) && number <= chipNumber
                  : number <= chipNumber;
  if (runs)
    return CUDA_SUCCESS;
  return fail(CUDA_ERROR_NO_BINARY_FOR_GPU,
              program.fileName + " is for sm_" + llvm::Twine(number) +
                  program.smSuffix + ", the device is " + chip().chip +
                  "; FA4_DRIVER_CHIP names another one");
}

void Driver::releaseGlobals(Module &module) {
  for (const auto &[name, address] : module.globals)
    memory->release(address);
  module.globals.clear();
  for (auto &part : module.found)
    releaseGlobals(*part);
}

bool Driver::isModule(const Module *module) const {
  return llvm::any_of(modules,
                      [&](const auto &m) { return m.get() == module; });
}

CUresult Driver::unload(Module *module) {
  if (!isModule(module))
    return CUDA_ERROR_INVALID_HANDLE;
  releaseGlobals(*module);
  llvm::erase_if(modules, [&](const auto &m) { return m.get() == module; });
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether PTX text has an entry of this name.
static bool hasEntry(StringRef text, StringRef name) {
  for (size_t at = text.find(".entry"); at != StringRef::npos;
       at = text.find(".entry", at + 1)) {
    StringRef rest = text.drop_front(at + strlen(".entry")).ltrim();
    if (rest.consume_front(name) && !rest.empty() && !llvm::isAlnum(rest[0]) &&
        rest[0] != '_' && rest[0] != '$')
      return true;
  }
  return false;
}

/// The newest file of FA4_DRIVER_PTX that has the entry; null if none has it,
/// or it cannot be loaded.
std::unique_ptr<Module> Driver::searchPtx(StringRef kernel) {
  std::string best, path;
  llvm::sys::TimePoint<> newest;
  for (const std::string &folder : settings.ptxFolders) {
    std::error_code error;
    for (llvm::sys::fs::recursive_directory_iterator file(folder, error), end;
         file != end && !error; file.increment(error)) {
      auto status = file->status();
      if (llvm::sys::path::extension(file->path()) != ".ptx" || !status ||
          (!best.empty() && status->getLastModificationTime() <= newest))
        continue;
      auto buffer = llvm::MemoryBuffer::getFile(file->path());
      if (!buffer || !hasEntry((*buffer)->getBuffer(), kernel))
        continue;
      best = (*buffer)->getBuffer().str();
      path = file->path();
      newest = status->getLastModificationTime();
    }
  }
  if (best.empty()) {
    fail(CUDA_ERROR_NOT_FOUND, "no .ptx file in " +
                                   llvm::join(settings.ptxFolders, ":") +
                                   " has the entry '" + kernel + "'");
    return nullptr;
  }
  // CuTe-DSL ends its files with a zero.
  llvm::erase(best, '\0');
  auto module = std::make_unique<Module>();
  if (loadPtx(std::move(best), path, *module))
    return nullptr;
  return module;
}

CUresult Driver::findKernel(Module &module, StringRef name, Kernel *&kernel) {
  auto known = module.kernels.find(name);
  if (known != module.kernels.end()) {
    kernel = known->second.get();
    return CUDA_SUCCESS;
  }
  if (!module.isMachineCode) {
    std::string names;
    for (const auto &[other, unused] : module.kernels)
      names += " " + other;
    return fail(CUDA_ERROR_NOT_FOUND,
                module.source->fileName + " has no entry '" + name +
                    "'; there is:" + (names.empty() ? " none" : names));
  }
  for (auto &part : module.found)
    if (part->kernels.count(name.str()))
      return findKernel(*part, name, kernel);
  auto part = searchPtx(name);
  if (!part)
    return CUDA_ERROR_NOT_FOUND;
  module.found.push_back(std::move(part));
  return findKernel(*module.found.back(), name, kernel);
}

std::vector<Kernel *> Driver::listKernels(Module &module) {
  std::vector<Kernel *> kernels;
  for (const auto &[name, kernel] : module.kernels)
    kernels.push_back(kernel.get());
  for (const std::string &name : module.names) {
    Kernel *kernel = nullptr;
    if (!findKernel(module, name, kernel))
      kernels.push_back(kernel);
  }
  return kernels;
}
