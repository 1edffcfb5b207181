// The commands of the program. Each takes its own command line (argv[0] is the command's name), writes what it has to
// say to standard output (progress and logs to standard error) and returns the exit code; it throws Error for
// everything that main() is to report.
//
// To add a command: a .cc file with its run_ function, one line here and one in main.cc.
#pragma once

namespace tidemark::cli {

int run_train(int argc, char** argv);
int run_plan(int argc, char** argv);
int run_generate(int argc, char** argv);
int run_hold(int argc, char** argv);
int run_soak(int argc, char** argv);
int run_bench(int argc, char** argv);

}  // namespace tidemark::cli
