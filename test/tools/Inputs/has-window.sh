#!/bin/sh
# Interesting (0) while the file still holds an op with a window.
grep -q 'attn.sdpa .*window' "$1"
