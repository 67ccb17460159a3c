#!/bin/sh
# Interesting (0) while the file still has a sine.
grep -q 'math.sin' "$1"
