#!/bin/bash
# Runs the examples as a reader would and checks what they print. Usage: examples_test.sh PLAN_TRACE TRAIN_TWO_LAYERS
set -eu
plan_trace=$1
train_two_layers=$2

csv="$TEST_TMPDIR/trace.csv"
printf 'id,lower,upper,size\n0,0,4,10\n1,0,2,20\n2,2,4,20\n' >"$csv"
"$plan_trace" "$csv" | tee "$TEST_TMPDIR/plan"
grep -q '^3 buffers, peak 30 B, lower bound 30 B, proven optimal$' "$TEST_TMPDIR/plan"

printf 'id,lower,upper,size\n0,4,4,10\n' >"$csv"
if "$plan_trace" "$csv" 2>"$TEST_TMPDIR/error"; then
  echo "an empty lifetime was accepted"
  exit 1
fi
grep -q "trace.csv" "$TEST_TMPDIR/error"

"$train_two_layers" | tee "$TEST_TMPDIR/train"
right=$(awk '/^step 400 /{print $6}' "$TEST_TMPDIR/train")
[ "$right" -ge 56 ] || { echo "only $right of 64 right after 400 steps"; exit 1; }
