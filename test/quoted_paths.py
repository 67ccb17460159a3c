# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The test format of the lit suite: lit's own, with paths as single words.

lit replaces %s, %t and the like in RUN lines as plain text. In a checkout in the
folder "a b", the line `rm -rf %t` would thus remove "a" beside that folder. The
format of this module puts such a substitution in quotes before lit replaces it,
unless the test has it in quotes already.

lit sends tests to its worker processes, which can only be done with a class of a
module; hence it is not in lit.cfg.py.
"""

import re

import lit.formats
import lit.Test
import lit.TestRunner
from lit.Test import Result
from lit.TestRunner import CommandDirective

# lit's substitutions for paths, and those of lit.cfg.py. The variants
# :basename, :stem, :regex_replacement and %basename_t are names or parts of
# regular expressions; a test has them in quotes if it has to.
PATH = re.compile(
    r"%ptxas"
    r"|%llvm_shlib_dir"
    r"|%/?[sSpt]"
    r"|%:[sSpt]"
    r"|%/et"
    r"|%\{/?[sSpt]:real\}"
)

# Characters that lit's shell or its substitution of text does not take as they
# are, even between quotes.
UNSAFE = re.compile(r'["\\$%\n\r]')


def quoted(line):
    """A shell line in which each substitution for a path stands in double quotes.

    >>> quoted("rm -rf %t && fa4-opt %s -o %t/a.mlir")
    'rm -rf "%t" && fa4-opt "%s" -o "%t"/a.mlir'
    >>> print(quoted("sed 's,%s,x,' \\"%s\\" %%s"))
    sed 's,'"%s"',x,' "%s" %%s
    """
    result = []
    quote = None  # the kind of quotes that the position is in
    position = 0
    while position < len(line):
        character = line[position]
        length = 1
        found = quote != '"' and PATH.match(line, position)
        if found:
            # The text in single quotes is read by another shell, too.
            start = line.rfind("'", 0, position)
            if quote and re.search(r"\bsh -c $", line[:start]) and line.count('"', start, position) % 2 == 0:
                raise ValueError(f'in the command of sh -c, write "{found[0]}" with the quotes')
            # Single quotes of the test are closed and opened again, as the path
            # may have one.
            result.append(f"{quote or ''}\"{found[0]}\"{quote or ''}")
            position = found.end()
            continue
        if line.startswith("%%", position) or character == "\\" and quote != "'":
            length = 2
        elif quote:
            if character == quote:
                quote = None
        elif character in "'\"":
            quote = character
        result.append(line[position : position + length])
        position += length
    return "".join(result)


class QuotedShTest(lit.formats.ShTest):
    """lit.formats.ShTest with lit's internal shell and `quoted` lines."""

    def __init__(self):
        super().__init__(execute_external=False)

    # As lit.TestRunner.executeShTest, which has no place to change lines before
    # the substitutions.
    def execute(self, test, lit_config):
        if test.config.unsupported:
            return Result(lit.Test.UNSUPPORTED, "Test is unsupported")
        script = lit.TestRunner.parseIntegratedTestScript(test)
        if isinstance(script, Result):
            return script
        if lit_config.noExecute:
            return Result(lit.Test.PASS)
        try:
            for directive in script:
                if isinstance(directive, CommandDirective):
                    directive.command = quoted(directive.command)
                else:
                    directive.value = quoted(directive.value)
        except ValueError as error:
            return Result(lit.Test.UNRESOLVED, str(error))
        folder, base = lit.TestRunner.getTempPaths(test)
        for path in (test.getSourcePath(), base):
            if UNSAFE.search(path):
                return Result(
                    lit.Test.UNRESOLVED,
                    f"lit cannot run a test in this folder, whose name has one of "
                    f'the characters " \\ $ % or a line break: {path}',
                )
        script = lit.TestRunner.applySubstitutions(
            script,
            lit.TestRunner.getDefaultSubstitutions(test, folder, base),
            {feature: True for feature in test.config.available_features},
            recursion_limit=test.config.recursiveExpansionLimit,
        )
        return lit.TestRunner._runShTest(test, lit_config, False, script, base)
