"""op_library: the targets of one op's folder, so that its BUILD file names what is special about it and nothing else."""

load("//bazel:rules.bzl", "tm_cc_library", "tm_cc_test", "tm_simd_library")
load("//bazel/cuda:cuda_library.bzl", "cuda_library", "if_cuda")

_DEPS = [
    "//base:error",
    "//base:parallel",
    "//graph:autodiff",
    "//graph:op",
    "//ops:kernel",
    "//ops:op_definition",
    "//ops:op_rules",
    "//ops:partition",
    "//ops:simd_choice",
]

# oneDNN's names for the CPU levels.
_ONEDNN_ISAS = {"v2": "SSE41", "v3": "AVX2"}

def _cuda_kernels(name, srcs, hdrs, deps):
    """NAME_launch (headers of the launchers), NAME_cuda (nvcc) and NAME_emulated (the same sources as C++, for tests)."""
    language = "//device/cuda/language"
    tm_cc_library(
        name = name + "_launch",
        hdrs = hdrs,
        visibility = ["//visibility:private"],
    )
    cuda_library(
        name = name + "_cuda",
        srcs = srcs,
        visibility = ["//visibility:private"],
        deps = deps + [name + "_launch", language],
    )
    includes = ["echo '#include \"%s/%s\"'" % (native.package_name(), src) for src in srcs]
    native.genrule(
        name = name + "_emulated_source",
        testonly = True,
        outs = [name + "_emulated.cc"],
        cmd = "(%s) > $@" % "; ".join(includes),
        visibility = ["//visibility:private"],
    )
    tm_cc_library(
        name = name + "_emulated",
        testonly = True,
        srcs = [name + "_emulated.cc"],
        textual_hdrs = srcs,
        visibility = ["//visibility:private"],
        deps = deps + [name + "_launch", language, language + ":emulation"],
    )

def op_library(
        name,
        srcs,
        hdrs,
        simd_srcs = [],
        simd_hdrs = [],
        simd_deps = [],
        cuda_srcs = [],
        cuda_hdrs = [],
        cuda_deps = [],
        deps = [],
        visibility = [],
        **kwargs):
    """The library of one op or of a few that belong together.

    hdrs declare the OpDefinitions; srcs also hold private headers. simd_srcs, declared in simd_hdrs, are compiled once per
    CPU level. Every op sees the rules, the kernels' interface and parallel_for; deps adds to them.

    cuda_srcs (.cu), whose launchers cuda_hdrs declare, are compiled by nvcc where the build has CUDA; the library then
    also holds NAME_cuda_entry.cc, else NAME_cuda_missing.cc, which give the kernels' list entries or none. Tests link
    NAME_emulated to run the same sources on the host.
    """
    cuda_kernels = []
    if cuda_srcs:
        _cuda_kernels(name, cuda_srcs, cuda_hdrs, cuda_deps)
        srcs = srcs + if_cuda([name + "_cuda_entry.cc"], [name + "_cuda_missing.cc"])
        cuda_kernels = [name + "_launch", "//ops:cuda_launch"] + if_cuda([name + "_cuda"])
    if simd_srcs:
        tm_simd_library(
            name = name + "_simd",
            srcs = simd_srcs,
            hdrs = simd_hdrs,
            # Nobody reads errno or traps; heeding them would keep loops with a square root or a choice scalar.
            copts = ["-fno-math-errno", "-fno-trapping-math"],
            deps = simd_deps + ["//base:parallel"],
            visibility = ["//visibility:private"],
        )
    tm_cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        deps = _DEPS + deps + ([name + "_simd"] if simd_srcs else []) + cuda_kernels,
        visibility = ["//ops:__subpackages__"] + visibility,  # tests put several ops into one set
        **kwargs
    )

def op_test(name, deps, isa_levels = [], **kwargs):
    """NAME.cc with the op-case harness, once as the machine is and once per CPU level of isa_levels ("v2", "v3").

    The source is compiled once, whatever the number of levels.
    """
    tm_cc_library(
        name = name + "_cases",
        testonly = True,
        srcs = [name + ".cc"],
        alwayslink = True,
        visibility = ["//visibility:private"],
        deps = deps + ["//ops:op_definition", "//ops/testing:op_case", "@googletest//:gtest"],
    )
    for level in [None] + isa_levels:
        tm_cc_test(
            name = name + ("_" + level if level else ""),
            env = {"TIDEMARK_MAX_ISA": level} if level else {},
            deps = [name + "_cases"],
            **kwargs
        )
