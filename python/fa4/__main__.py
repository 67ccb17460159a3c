# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `fa4`, which is `python -m fa4` too."""

import argparse
import sys
import time

from fa4.errors import Fa4Error


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _size(text: str) -> int:
    from fa4 import cache

    try:
        return cache.read_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def show_cache(arguments) -> int:
    from fa4 import cache

    if arguments.action == "clear":
        older = None if arguments.older is None else arguments.older * 86400
        count, size = cache.clear(older)
        print(f"{count} entries removed, {_megabytes(size)}")
        return 0
    if arguments.action == "trim":
        count, size = cache.trim(cache.limit() if arguments.size is None else arguments.size)
        print(f"{count} entries removed, {_megabytes(size)}")
        return 0
    found = list(cache.entries())
    if arguments.action == "list":
        for path, status in sorted(found, key=lambda each: -each[1].st_mtime_ns):
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(status.st_mtime))
            try:
                about = cache.read(path).about
                what = f"{about['chip'] or 'sm_100a'}  {about['emit']}  {' '.join(about['files'])}"
            except (OSError, ValueError, KeyError) as error:
                what = f"broken: {error}"
            print(f"{when}  {_megabytes(status.st_size):>9}  {what}")
    total = sum(status.st_size for _, status in found)
    state = "" if cache.is_on() else " (off: FA4_CACHE)"
    most = f" of {_megabytes(cache.limit())}" if cache.limit() else ", no limit"
    print(f"{cache.folder()}: {len(found)} entries, {_megabytes(total)}{most}{state}")
    return 0


def show_version(_) -> int:
    from fa4 import _library

    print(f"fa4 {_library.version()}\nlibrary: {_library.find()}")
    return 0


def run_selftest(arguments) -> int:
    from fa4 import selftest

    return selftest.main(arguments)


def write_report(arguments) -> int:
    from fa4 import report

    return report.main(arguments)


def parser(wanted: str = "") -> argparse.ArgumentParser:
    """Of all commands; the options of `wanted` are there, those of others may not be."""
    main = argparse.ArgumentParser(prog="fa4", description="Attention ops to GPU kernels.")
    commands = main.add_subparsers(dest="command", required=True)

    command = commands.add_parser("cache", help="look at the cache of compiled kernels, or clear it")
    command.add_argument("action", nargs="?", choices=("show", "list", "trim", "clear"), default="show",
                         help="where it is and how large (show, the default), its entries with their last use (list), "
                         "remove those not used for the longest time (trim), or all (clear)")  # fmt: skip
    command.add_argument("--older", type=float, metavar="DAYS", help="with clear: only entries not used for so long")
    command.add_argument("--size", type=_size, metavar="SIZE", help="with trim: until they have so many bytes (FA4_CACHE_SIZE)")
    command.set_defaults(run=show_cache)

    command = commands.add_parser("version", help="the versions of fa4 and its LLVM, and where the library is")
    command.set_defaults(run=show_version)

    command = commands.add_parser("selftest", help="compile, launch and check kernels on this machine's GPU, or in the simulator")
    if wanted == "selftest":
        from fa4 import selftest

        selftest.add_arguments(command)
    command.set_defaults(run=run_selftest)

    command = commands.add_parser("report", help="write a kernel as one HTML file: schedule, channels, memory, roofline, IR")
    if wanted == "report":
        from fa4 import report

        report.add_arguments(command)
    command.set_defaults(run=write_report)
    return main


def main(arguments=None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    given = parser(arguments[0] if arguments else "").parse_args(arguments)
    try:
        return given.run(given)
    except Fa4Error as error:
        print(f"fa4: error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    except ModuleNotFoundError as error:
        if error.name not in ("numpy", "ml_dtypes"):
            raise
        print(f"fa4: error: this command needs the Python package {error.name}: pip install numpy ml_dtypes", file=sys.stderr)
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        print(f"fa4: error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1


def report_main() -> int:
    """The command `fa4-report`, which is `fa4 report`."""
    return main(["report", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
