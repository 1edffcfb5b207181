#!/bin/bash
# Runs tools/setup against made-up package managers. Usage: setup_test.sh PATH_OF_SETUP
set -u
setup=$1
dir=$(mktemp -d -p "$TEST_TMPDIR")
bin=$dir/bin
mkdir "$bin"
for tool in bash cat cut dirname env head readlink tr; do ln -s "$(command -v $tool)" "$bin/$tool"; done
failures=0

program() {  # program NAME: makes one from standard input
  { echo '#!/bin/bash' && cat; } >"$bin/$1" && chmod +x "$bin/$1"
}
run() {  # run ARGS...: fills out and status
  out=$(PATH=$bin DIR=$dir TIDEMARK_PACKAGES=$dir/packages.txt bash "$setup" "$@" 2>&1)
  status=$?
}
expect() {  # expect WHAT CONDITION...
  local what=$1
  shift
  "$@" || { echo "FAILED: $what; status $status, output: $out"; failures=$((failures + 1)); }
}
says() { [[ $out == *"$1"* ]]; }

cat >"$dir/packages.txt" <<EOF
# a comment
alpha-dev | file:$dir/alpha | reads alphas
beta      | program:beta    | runs betas
EOF

run
expect "without apt it fails" [ $status = 1 ]
expect "without apt it names the first" says "alpha-dev (reads alphas; looked for $dir/alpha)"
expect "without apt it names the second" says "beta (runs betas"
expect "without apt it says what to do" says "no apt-get"

touch "$dir/alpha"
program beta </dev/null
run
expect "what is there by another way counts" [ $status = 0 ]
expect "it is silent when all is there" [ -z "$out" ]
rm "$dir/alpha" "$bin/beta"

program dpkg-query <<'EOF'
[ -e $DIR/installed ] && printf 'alpha-dev:installed beta:installed '
printf 'alpha-dev:config-files '
EOF
program apt-cache <<'EOF'
[ "$1" = search ] && { echo "alpha2-dev - other name"; exit 0; }
[ -e $DIR/lists ] && [ "$2" != "$(cat $DIR/unknown 2>&1)" ]
EOF
program apt-get <<'EOF'
echo "$*" >>$DIR/calls
[[ $* == *update* ]] && >$DIR/lists
[[ $* == *install* ]] && >$DIR/installed
exit 0
EOF
program id <<<'echo 0'

run --check
expect "--check reports" [ $status = 1 ]
expect "--check installs nothing" [ ! -e "$dir/calls" ]

run
expect "it installs what is missing" [ $status = 0 ]
expect "it fetches lists when there are none" grep -q update "$dir/calls"
expect "it installs without recommendations" grep -q -- "--no-install-recommends alpha-dev beta" "$dir/calls"
expect "it waits for apt's lock" grep -q "DPkg::Lock::Timeout=300 .*install" "$dir/calls"

rm "$dir/calls"
run
expect "installed packages need nothing" [ $status = 0 ]
expect "installed packages make no call" [ ! -e "$dir/calls" ]

rm "$dir/installed"
echo alpha-dev >"$dir/unknown"
run
expect "an unknown name fails" [ $status = 1 ]
expect "an unknown name is told with its neighbours" says "no 'alpha-dev'"
expect "neighbours are shown" says "alpha2-dev"
rm "$dir/unknown"

program id <<<'echo 1000'
program sudo <<<'exit 1'
run
expect "without a password-free sudo it fails" [ $status = 1 ]
expect "it prints the command to run" says "sudo apt-get install --no-install-recommends alpha-dev beta"

[ $failures = 0 ]
