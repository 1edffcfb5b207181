#!/bin/bash
# The program under bad luck: closed streams, full disks, two runs in one folder, weights that diverge in the last step.
# Usage: bad_luck_test.sh TIDEMARK
set -u
tidemark=$(realpath "$1")
cd "$TEST_TMPDIR" || exit 1
export OMP_WAIT_POLICY=passive
seq 1 2000 >text.txt
cat >tiny.yaml <<'END'
model: {kind: gpt, layers: 1, heads: 1, width: 8, context: 8}
data: {kind: text, path: text.txt}
train: {global_batch: 4, steps: 2, threads: 1, eval_samples: 4}
memory: {budget: 64MiB}
END

# expect CODE TEXT COMMAND...: the exit code, and a text on standard error.
expect() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" 2>error.txt || got=$?
  [ "$got" = "$code" ] || { echo "$*: exit code $got, wanted $code"; cat error.txt; exit 1; }
  [ -z "$text" ] || grep -qF -- "$text" error.txt || { echo "$*: no '$text' in"; cat error.txt; exit 1; }
}
train() { "$tidemark" train -c tiny.yaml "$@"; }
to_full_disk() { "$@" >/dev/full; }
with_closed_streams() { "$@" <&- >&- 2>&-; }
with_small_files() (ulimit -f 1; "$@")

expect 1 "standard output could not be written" to_full_disk "$tidemark" config reference
expect 1 "standard output could not be written" to_full_disk train --json
expect 1 "standard output could not be written" to_full_disk "$tidemark" --version
expect 1 "standard output could not be written" to_full_disk "$tidemark" --help
expect 0 "" with_closed_streams train --set checkpoint.dir=closed
expect 0 "event=resumed" train --set checkpoint.dir=closed --resume --set train.steps=3

expect 1 "File too large" with_small_files train --set checkpoint.dir=small --set model.width=64
expect 1 "loss of the evaluation after step 1 is nan" train --set train.steps=1 --set train.lr=1e39
expect 0 "" train --set model.context=1
expect 0 "" train --set train.global_batch=16777216 --set train.steps=1 --set memory.micro_batch=4
expect 2 "train.steps" train --set train.steps=9223372036854775807

expect 2 "memory.headroom 1000TiB leaves no page" train --set 'memory.budget=""' --set memory.headroom=1000TiB

mkdir shared
exec 9<shared
flock -n 9
expect 1 "'shared' is in use by another run" train --set checkpoint.dir=shared
exec 9<&-
expect 0 "" train --set checkpoint.dir=shared
echo "all as expected"
