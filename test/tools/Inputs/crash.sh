#!/bin/sh
# crash.sh NAME FIFO: the tool fa4-NAME gets a signal while it reads from the FIFO.
# The FIFO stays open for writing, so that the tool neither ends nor goes on.
"fa4-$1" "$2" &
tool=$!
exec 3> "$2"
sleep 0.5
kill -SEGV "$tool"
wait "$tool"
test $? -gt 128
