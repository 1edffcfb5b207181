"""cuda_library: compiles .cu files with nvcc and yields CcInfo, so that cc_* rules link them.

Also CUDA_ONLY (for target_compatible_with: wildcards skip the target where CUDA is off) and if_cuda (a select).
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@local_cuda//:toolkit.bzl", "ARCHITECTURES", "NVCC", "NVCC_SETS_HOST_COMPILER", "NVCC_VERSION")

CUDA_ONLY = select({
    "@local_cuda//:enabled": [],
    "//conditions:default": ["//bazel/cuda:unavailable"],
})

_MODE_FLAGS = {
    "dbg": ["-g", "-O0"],
    "fastbuild": ["-O2"],
    "opt": ["-O3", "-DNDEBUG"],
}

def if_cuda(then, otherwise = []):
    """`then` where the build has CUDA, `otherwise` where it has not."""
    return select({
        "@local_cuda//:enabled": then,
        "//conditions:default": otherwise,
    })

def _gencode(archs):
    """Machine code for each architecture, and PTX of the last for those that come later."""
    flags = ["-gencode=arch=compute_%s,code=sm_%s" % (arch, arch) for arch in archs]
    return flags + ["-gencode=arch=compute_%s,code=compute_%s" % (archs[-1], archs[-1])]

def _include_flags(context):
    flags = ["-I."]
    flags += ["-I" + path for path in context.includes.to_list() + context.quote_includes.to_list()]

    # nvcc finds the toolkit's own headers by itself, in its own order.
    flags += ["-isystem=" + path for path in context.system_includes.to_list() if "local_cuda" not in path]
    return flags

def _nvcc_flags(ctx, cc, context):
    flags = ["-std=c++20", "-lineinfo", "-Xcompiler=-fPIC,-Wall", "-Werror=all-warnings", "-Wno-deprecated-gpu-targets"]
    if not NVCC_SETS_HOST_COMPILER:
        flags += ["-ccbin", cc.compiler_executable]
    flags += _MODE_FLAGS[ctx.var["COMPILATION_MODE"]]
    flags += _gencode(ctx.attr.archs or ARCHITECTURES)
    flags += ["-D" + define for define in context.defines.to_list() + ctx.attr.defines + ctx.attr.local_defines]
    return flags + _include_flags(context) + ctx.attr.copts

def _compile(ctx, cc, context):
    flags = _nvcc_flags(ctx, cc, context)
    objects = []
    for source in ctx.files.srcs:
        obj = ctx.actions.declare_file("_nvcc/%s/%s.o" % (ctx.label.name, source.basename[:-len(".cu")]))
        args = ctx.actions.args()
        args.add_all(flags)
        args.add("-c", source)
        args.add("-o", obj)
        ctx.actions.run(
            executable = NVCC,
            arguments = [args],
            inputs = depset(
                [source] + ctx.files.hdrs + ctx.files.textual_hdrs,
                transitive = [context.headers, cc.all_files],
            ),
            outputs = [obj],
            # The version makes a new toolkit at the same path a new action.
            env = {
                "PATH": "/usr/bin:/bin",
                "TIDEMARK_NVCC_VERSION": NVCC_VERSION,
            },
            mnemonic = "CudaCompile",
            progress_message = "Compiling %s with nvcc" % source.short_path,
        )
        objects.append(obj)
    return objects

def _cuda_library_impl(ctx):
    if not NVCC:
        fail("%s needs CUDA, and @local_cuda found no toolkit" % ctx.label)
    cc = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    objects = depset(_compile(ctx, cc, deps.compilation_context))
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = cc,
        compilation_outputs = cc_common.create_compilation_outputs(objects = objects, pic_objects = objects),
        linking_contexts = [deps.linking_context],
        disallow_dynamic_library = True,
    )
    own = CcInfo(
        compilation_context = cc_common.create_compilation_context(
            headers = depset(ctx.files.hdrs),
            defines = depset(ctx.attr.defines),
        ),
        linking_context = linking,
    )
    return [DefaultInfo(files = objects), cc_common.merge_cc_infos(cc_infos = [own, deps])]

_cuda_library = rule(
    implementation = _cuda_library_impl,
    attrs = {
        "archs": attr.string_list(doc = "Architectures instead of the toolkit's usual ones, for example ['90']."),
        "copts": attr.string_list(),
        "defines": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "local_defines": attr.string_list(),
        "srcs": attr.label_list(allow_files = [".cu"]),
        "textual_hdrs": attr.label_list(allow_files = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def cuda_library(name, deps = [], target_compatible_with = [], **kwargs):
    """A library of .cu files. Wildcards skip it, and what depends on it, where CUDA is off."""
    _cuda_library(
        name = name,
        deps = deps + ["@local_cuda//:cudart"],
        target_compatible_with = CUDA_ONLY + target_compatible_with,
        **kwargs
    )
