//===- Options.td - command line of fa4-sim ----------------*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "llvm/Option/OptParser.td"

class Switch<string name, string help>
    : Flag<["--"], name>, HelpText<help>;

// `--name=value` and `--name value`.
multiclass Value<string name, string meta, string help> {
  def NAME : Separate<["--"], name>, HelpText<help>, MetaVarName<meta>;
  def NAME#_EQ : Joined<["--"], name#"=">, Alias<!cast<Separate>(NAME)>;
}

def help : Switch<"help", "Print this text">;
def h : Flag<["-"], "h">, Alias<help>;
def version : Switch<"version", "Print the version">;

def check : Switch<"check",
  "Find races, missing fences and waits, uninitialised reads">;
defm allow : Value<"allow", "KIND[,KIND...]",
  "Do not report findings of these kinds, and go on behind them; strict: those that hardware tolerates are notes">;
def keep_going : Switch<"keep-going",
  "Go on behind the first finding and count them all">;
def random : Switch<"random",
  "Fill floating-point inputs that no file gives with normal numbers">;
def raw : Switch<"raw", "Write bf16 and fp8 as their bits, not as float32">;
def time : Switch<"time",
  "Tell how long each launch takes on the chip, and where the time goes">;
defm trace : Value<"trace", "FILE",
  "Write what happens in the first CTA of a timed launch as a trace for Perfetto or Chrome">;
defm compare : Value<"compare", "FILE",
  "With --time: print the launch beside that of another manifest, role by role; both get the NAME=VALUEs that they know">;
defm compared : Value<"compared", "NAME=VALUE",
  "A size or an array for the launch of --compare alone">;
defm compared_launch : Value<"compared-launch", "N",
  "Which launch of --compare's manifest, if there are several">;
def sensitivity : Switch<"sensitivity",
  "With --time: tell how much the time of the first CTA moves over the range of each parameter of the chip">;
defm costs : Value<"costs", "NAME",
  "Where --time takes the costs of instructions from: the machine code that ptxas makes, or a table of PTX forms (default: machine, where ptxas and nvdisasm are there)">;
defm set : Value<"set", "NAME=NUMBER",
  "Use this latency or rate of the chip with --time">;
def stats : Switch<"stats", "Print statistics of each launch">;
def json : Switch<"json", "Print one JSON object instead of text">;
def entries : Switch<"entries",
  "Print the entries of a PTX file and their parameters as JSON, and run nothing">;
def progress : Switch<"progress",
  "Show progress though standard error is no terminal">;

defm seed : Value<"seed", "N",
  "Seed of the order in which things happen (default 0)">;
defm seeds : Value<"seeds", "A:B",
  "Run once for each seed from A to B, from the same memory">;
defm fill_seed : Value<"fill-seed", "N", "Seed of --random">;
defm threads : Value<"threads", "N",
  "Worker threads (default: one per core)">;
defm policy : Value<"policy", "NAME",
  "How things are ordered: random (default); asynchronous work eager, lazy; warps by priority">;
defm max_instructions : Value<"max-instructions", "N",
  "Give up after N warp instructions of one launch">;
defm output : Value<"output", "NAME=FILE.npy",
  "Write this tensor when all launches are done, whatever its role">;
defm watch : Value<"watch", "PLACE",
  "Print every write to TENSOR[INDEX,...], to four bytes of global memory at an address, or of shared memory at shared:OFFSET">;
defm launches : Value<"launches", "A:B",
  "Run only the launches from A to B (numbers from 0)">;
