#!/bin/sh
# crash.sh TOOL FIFO: the tool gets a signal while it reads from the FIFO.
# The FIFO stays open for writing, so that the tool neither ends nor goes on.
"$1" "$2" &
tool=$!
exec 3> "$2"
sleep 0.5
kill -SEGV "$tool"
wait "$tool"
test $? -gt 128
