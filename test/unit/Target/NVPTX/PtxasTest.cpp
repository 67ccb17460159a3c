//===- PtxasTest.cpp - finding ptxas and reading what it prints -----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/NVPTX/Ptxas.h"
#include "fa4/Target/NVPTX/Nvdisasm.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace fa4;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;

//===----------------------------------------------------------------------===//
// The log
//===----------------------------------------------------------------------===//

static std::string errorOf(StringRef log) {
  llvm::Expected<PtxasReport> report = parsePtxasLog(log);
  return report ? "" : llvm::toString(report.takeError());
}

TEST(PtxasLog, OneEntry) {
  auto report = llvm::cantFail(parsePtxasLog(
      R"(ptxas info    : 0 bytes gmem, 24 bytes cmem[4]
ptxas info    : Compiling entry function 'gemm' for 'sm_100a'
ptxas info    : Function properties for gemm
    16 bytes stack frame, 268 bytes spill stores, 332 bytes spill loads
ptxas info    : Used 134 registers, used 2 barriers, 16 bytes cumulative stack size, 4096 bytes smem, 416 bytes cmem[0]
ptxas info    : Compile time = 63.169 ms
)"));
  ASSERT_EQ(report.functions.size(), 1u);
  const PtxasFunction &f = report.functions.front();
  EXPECT_EQ(f.name, "gemm");
  EXPECT_TRUE(f.isEntry);
  EXPECT_EQ(f.registers, 134u);
  EXPECT_EQ(f.barriers, 2u);
  EXPECT_EQ(f.sharedBytes, 4096u);
  EXPECT_EQ(f.stackBytes, 16u);
  EXPECT_EQ(f.spillStoreBytes, 268u);
  EXPECT_EQ(f.spillLoadBytes, 332u);
  EXPECT_TRUE(f.usesLocalMemory());
  EXPECT_TRUE(report.advisories.empty());
}

// The entry's "Used" line comes behind the properties of what it calls.
TEST(PtxasLog, CalledFunctionsAndAdvisories) {
  auto report = llvm::cantFail(parsePtxasLog(
      R"(ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.
ptxas warning : Unresolved extern variable 's' in whole program compilation, ignoring extern qualifier
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'b' for 'sm_103a'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 6 registers, used 0 barriers
ptxas info    : Function properties for f
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'a' for 'sm_103a'
ptxas info    : Function properties for a
    0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Function properties for g
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers
)"));
  ASSERT_EQ(report.functions.size(), 4u);
  EXPECT_EQ(report.functions[0].name, "b");
  EXPECT_EQ(report.functions[0].registers, 6u);
  EXPECT_FALSE(report.functions[0].usesLocalMemory());
  EXPECT_EQ(report.functions[1].name, "f");
  EXPECT_FALSE(report.functions[1].isEntry);
  EXPECT_EQ(report.functions[1].stackBytes, 8u);
  EXPECT_EQ(report.functions[2].name, "a");
  EXPECT_EQ(report.functions[2].registers, 255u);
  EXPECT_EQ(report.functions[2].spillStoreBytes, 4u);
  EXPECT_EQ(report.functions[3].name, "g");
  EXPECT_EQ(report.functions[3].registers, 0u);
  ASSERT_EQ(report.advisories.size(), 2u);
  EXPECT_EQ(report.advisories[0].substr(0, 7), "(C7508)");
  EXPECT_EQ(report.advisories[1].substr(0, 26), "Unresolved extern variable");
}

TEST(PtxasLog, Malformed) {
  EXPECT_EQ(errorOf(""), "ptxas reports no entry function");
  EXPECT_EQ(errorOf("ptxas info    : Compiling entry function 'a' for 'x'\n"),
            "ptxas reports no entry function");
  EXPECT_EQ(errorOf("ptxas info    : Used 3 registers\n"),
            "cannot read this line of ptxas: 'ptxas info    : Used 3 "
            "registers'");
  EXPECT_EQ(errorOf("    0 bytes stack frame, 0 bytes spill stores, 0 bytes "
                    "spill loads\n"),
            "cannot read this line of ptxas: '    0 bytes stack frame, 0 bytes "
            "spill stores, 0 bytes spill loads'");
  EXPECT_EQ(errorOf("ptxas info    : Function properties for a\n"
                    "    many bytes stack frame, 0 bytes spill stores, 0 bytes "
                    "spill loads\n"),
            "cannot read this line of ptxas: '    many bytes stack frame, 0 "
            "bytes spill stores, 0 bytes spill loads'");
  EXPECT_EQ(errorOf("ptxas info    : Function properties for a\n"
                    "    0 bytes stack frame, 0 bytes spill stores\n"),
            "cannot read this line of ptxas: '    0 bytes stack frame, 0 bytes "
            "spill stores'");
}

//===----------------------------------------------------------------------===//
// The search, in a folder of its own
//===----------------------------------------------------------------------===//

namespace {

class FindPtxas : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(fs::createUniqueDirectory("fa4-find-ptxas", root));
    search.getEnv = [this](StringRef name) -> std::optional<std::string> {
      auto it = variables.find(name);
      if (it == variables.end())
        return std::nullopt;
      return it->second;
    };
    search.defaultDirectory = path("default/bin");
    search.environment = path("work/.venv");
  }
  void TearDown() override { fs::remove_directories(root); }

  std::string path(const Twine &relative) {
    llvm::SmallString<128> result(root);
    llvm::sys::path::append(result, relative);
    return std::string(result);
  }
  /// A file that could be ptxas.
  std::string addProgram(const Twine &relative, bool executable = true) {
    std::string file = path(relative);
    EXPECT_FALSE(fs::create_directories(llvm::sys::path::parent_path(file)));
    std::error_code ec;
    llvm::raw_fd_ostream(file, ec) << "#!/bin/sh\n";
    EXPECT_FALSE(ec);
    EXPECT_FALSE(fs::setPermissions(
        file, executable ? fs::all_all : fs::owner_read | fs::owner_write));
    return file;
  }
  std::string find(StringRef flag = {}) {
    llvm::Expected<std::string> found = findPtxas(flag, search);
    return found ? *found : "error: " + llvm::toString(found.takeError());
  }

  llvm::SmallString<128> root;
  llvm::StringMap<std::string> variables;
  PtxasSearch search;
};

} // namespace

/// Adds the places from the last to the first: each new one goes before those
/// that are there.
TEST_F(FindPtxas, Order) {
  const char *wheel = "lib/python3.12/site-packages/nvidia/cu13/bin/ptxas";
  std::string expected = addProgram(Twine("work/.venv/") + wheel);
  EXPECT_EQ(find(), expected);
  for (const char *name : {"FA4_VENV", "VIRTUAL_ENV"}) {
    expected = addProgram(Twine(name) + "/" + wheel);
    variables[name] = path(name);
    EXPECT_EQ(find(), expected);
  }
  expected = addProgram("default/bin/ptxas");
  EXPECT_EQ(find(), expected);
  expected = addProgram("second/ptxas");
  variables["PATH"] = path("first") + "::" + path("second");
  EXPECT_EQ(find(), expected);
  for (const char *name : {"CUDA_ROOT", "CUDA_PATH", "CUDA_HOME"}) {
    expected = addProgram(Twine(name) + "/bin/ptxas");
    variables[name] = path(name);
    EXPECT_EQ(find(), expected);
  }
  variables["FA4_PTXAS"] = expected = addProgram("variable");
  EXPECT_EQ(find(), expected);
  expected = addProgram("flag");
  EXPECT_EQ(find(expected), expected);
}

/// The environment is that of the installation, wherever one stands.
TEST_F(FindPtxas, EnvironmentOfTheInstallation) {
  std::string library =
      addProgram("home/lib/python3.12/site-packages/fa4/lib/libfa4.so");
  std::string tool = addProgram("work/build/release/bin/fa4-compile");
  addProgram("work/build/release/CMakeCache.txt");
  llvm::SmallString<128> real;
  ASSERT_FALSE(fs::real_path(root, real));
  EXPECT_EQ(findEnvironmentOf(library), (real + "/home").str());
  EXPECT_EQ(findEnvironmentOf(tool), (real + "/work/.venv").str());
  EXPECT_EQ(findEnvironmentOf(addProgram("usr/bin/fa4-compile")), "");
  EXPECT_EQ(findEnvironmentOf(path("nowhere/build/fa4-sim")), "");
  EXPECT_EQ(findEnvironmentOf(addProgram("other/build/tmp/bin/fa4-sim")), "");
  // A link leads to where the program is.
  ASSERT_FALSE(fs::create_link(tool, path("fa4-compile")));
  EXPECT_EQ(findEnvironmentOf(path("fa4-compile")),
            (real + "/work/.venv").str());

  search.environment = "";
  addProgram(".venv/lib/python3.12/site-packages/nvidia/cu13/bin/ptxas");
  llvm::SmallString<128> stood;
  ASSERT_FALSE(fs::current_path(stood));
  ASSERT_FALSE(fs::set_current_path(root));
  std::string result = find();
  ASSERT_FALSE(fs::set_current_path(stood));
  EXPECT_EQ(StringRef(result).take_front(16), "error: no ptxas;");
}

TEST_F(FindPtxas, OlderWheel) {
  std::string expected = addProgram("work/.venv/lib/python3.11/site-packages/"
                                    "nvidia/cuda_nvcc/bin/ptxas");
  EXPECT_EQ(find(), expected);
}

/// Folders and files that cannot be run are passed over.
TEST_F(FindPtxas, NoPrograms) {
  variables["PATH"] = path("first") + ":" + path("second");
  addProgram("first/ptxas", /*executable=*/false);
  addProgram("second/ptxas/ptxas");
  addProgram("default/bin/ptxas");
  EXPECT_EQ(find(), path("default/bin/ptxas"));
}

/// nvdisasm is looked for in the same places, under its own names.
TEST_F(FindPtxas, Nvdisasm) {
  auto findOther = [&] {
    llvm::Expected<std::string> found = findNvdisasm({}, search);
    return found ? *found : "error: " + llvm::toString(found.takeError());
  };
  addProgram("default/bin/ptxas");
  EXPECT_EQ(findOther(),
            "error: no nvdisasm; looked at FA4_NVDISASM (not set), CUDA_HOME "
            "(not set), CUDA_PATH (not set), CUDA_ROOT (not set), PATH (not "
            "set), " +
                path("default/bin") +
                ", VIRTUAL_ENV (not set), FA4_VENV (not set), the wheel "
                "nvidia-cuda-nvdisasm in " +
                path("work/.venv") +
                ". It comes with the CUDA toolkit and with `pip install "
                "nvidia-cuda-nvdisasm`");
  std::string expected =
      addProgram("work/.venv/lib/python3.12/site-packages/nvidia/cuda_nvdisasm/"
                 "bin/nvdisasm");
  EXPECT_EQ(findOther(), expected);
  expected = addProgram("default/bin/nvdisasm");
  EXPECT_EQ(findOther(), expected);
  expected = addProgram("mine");
  variables["FA4_NVDISASM"] = expected;
  EXPECT_EQ(findOther(), expected);
}

/// What is given must be right: another ptxas is not what was asked for.
TEST_F(FindPtxas, GivenAndWrong) {
  addProgram("default/bin/ptxas");
  EXPECT_EQ(find("/nonexistent"),
            "error: '/nonexistent', given as ptxas, is no executable file");
  variables["FA4_PTXAS"] = path("default/bin");
  EXPECT_EQ(find(), "error: FA4_PTXAS is '" + path("default/bin") +
                        "', which is no executable file");
}

TEST_F(FindPtxas, MissingNamesAllPlaces) {
  variables["CUDA_PATH"] = path("cuda");
  variables["VIRTUAL_ENV"] = path("venv");
  variables["FA4_PTXAS"] = "";
  EXPECT_EQ(
      find(),
      "error: no ptxas; looked at --ptxas (not given), FA4_PTXAS (not set), "
      "CUDA_HOME (not set), CUDA_PATH (" +
          path("cuda/bin") + "), CUDA_ROOT (not set), PATH (not set), " +
          path("default/bin") +
          ", the wheel nvidia-cuda-nvcc in VIRTUAL_ENV (" + path("venv") +
          "), FA4_VENV (not set), the wheel nvidia-cuda-nvcc in " +
          path("work/.venv") +
          ". It comes with the CUDA toolkit and with `pip install "
          "nvidia-cuda-nvcc`");
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Programs that are not ptxas in several ways; whatever happens, no temporary
/// file stays.
TEST_F(FindPtxas, NotPtxas) {
  std::string temporary = path("temporary");
  ASSERT_FALSE(fs::create_directories(temporary));
  setenv("TMPDIR", temporary.c_str(), /*overwrite=*/1);
  auto isEmpty = [&] {
    std::error_code ec;
    return fs::directory_iterator(temporary, ec) == fs::directory_iterator();
  };
  auto run = [&](StringRef script) {
    std::string file = addProgram("program");
    std::error_code ec;
    {
      llvm::raw_fd_ostream stream(file, ec);
      stream << "#!/bin/sh\nexport OUT=$5\n" << script << "\n";
    }
    auto result = assemble(file, "the text", "sm_100a", {"--last"});
    EXPECT_TRUE(isEmpty()) << script.str();
    return result ? "cubin: " + result->cubin
                  : llvm::toString(result.takeError());
  };
  std::string head = path("program") + " -arch=sm_100a failed (exit status ";
  EXPECT_EQ(run("exit 3"), head + "3)");
  EXPECT_EQ(run("echo \"$1 $2 $4 $6\"; cat \"$3\"; exit 1"),
            head + "1):\n-v -arch=sm_100a -o --last\nthe text");
  EXPECT_EQ(run("echo at $3, at $3; exit 1"), head + "1):\nat <ptx>, at <ptx>");
  EXPECT_EQ(run("for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; done; exit 1"),
            head + "1):\n1\n2\n3\n4\n5\n6\n7\n8\n... and 2 more lines");
  EXPECT_EQ(run("exit 0"), "ptxas reports no entry function");
  const char *log = "echo \"ptxas info    : Compiling entry function 'a' for "
                    "'x'\"\necho 'ptxas info    : Used 3 registers' >&2\n";
  EXPECT_EQ(run(log), path("program") + " wrote no cubin");
  EXPECT_EQ(run(std::string(log) + "printf ELF > \"$OUT\""), "cubin: ELF");
  EXPECT_EQ(run(std::string(log) + "rm \"$OUT\"").substr(0, 13),
            "cannot read '");
  EXPECT_EQ(run("echo $(ls \"$TMPDIR\" | wc -l) files; exit 1"),
            head + "1):\n3 files");
  unsetenv("TMPDIR");
}
