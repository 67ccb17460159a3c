// A program that runs a kernel on a CPU: simulate MANIFEST NAME=SIZE...
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "fa4/Simulator/Manifest/Session.h"
#include "llvm/Support/raw_ostream.h"

using namespace fa4::sim;

static llvm::ExitOnError check("simulate: ");

int main(int argc, char **argv) {
  Session session(check(readManifest(argv[1])));
  for (int i = 2; i < argc; ++i) {
    auto [name, value] = llvm::StringRef(argv[i]).split('=');
    check(session.setSize(name, *Number::parse(value)));
  }
  PrepareOptions options;
  options.randomInputs = true;
  check(session.prepare(options));
  for (size_t i = 0; i < session.launchCount(); ++i)
    if (!check(session.run(i, RunOptions())).ok())
      return 1;
  llvm::outs() << "no findings in " << session.launchCount() << " launch\n";
}
