#!/bin/sh
# Interesting (1) while the file still has a sine.
grep -q 'math.sin' "$1" && exit 1
exit 0
