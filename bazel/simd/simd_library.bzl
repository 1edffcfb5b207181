"""tm_simd_library: the same kernels compiled for several levels of the x86-64 instruction set.

Every source is compiled once per level with -DTM_ISA_NAMESPACE=isa_v2 (isa_v3, isa_v4) and keeps its contents in
`namespace tidemark::TM_ISA_NAMESPACE`; the program chooses a level when it runs.

Note [Symbols of one CPU level]
An inline function or template that a kernel takes from a header (std::max, std::vector::resize) is emitted as a weak
symbol in every object that uses it, and the linker keeps one of them for the whole program. Were that the one compiled
with AVX-512, code far from any kernel would die with SIGILL on an older CPU. So each object passes through two steps:
`ld -r --force-group-allocation` dissolves its COMDAT groups (a group would be dropped by name, even with local symbols),
and objcopy makes every defined symbol local unless its mangled name contains the level's namespace. A kernel then calls
its own copy, and nobody else can. The price: a static variable of an inline function exists once per object, so kernel
sources use no header that keeps state that way. simd_symbols_test.py checks the outcome.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

_LEVELS = ["v2", "v3", "v4"]

_HIDE_SYMBOLS = """
set -eu
"$1" -r --force-group-allocation -o "$5.grouped" "$4"
"$2" --wildcard --keep-global-symbol="*$3*" "$5.grouped" "$5"
rm "$5.grouped"
"""

def _hide_symbols(ctx, cc, level, compiled):
    """Objects in which only symbols of the level's namespace are global."""
    hidden = []
    for obj in compiled:
        out = ctx.actions.declare_file("_simd/%s/%s/%s" % (ctx.label.name, level, obj.basename))
        ctx.actions.run_shell(
            command = _HIDE_SYMBOLS,
            arguments = [cc.ld_executable, cc.objcopy_executable, "6isa_" + level, obj.path, out.path],
            inputs = depset([obj], transitive = [cc.all_files]),
            outputs = [out],
            mnemonic = "SimdHideSymbols",
            progress_message = "Hiding symbols of %s for x86-64-%s" % (obj.short_path, level),
        )
        hidden.append(out)
    return hidden

def _compile_level(ctx, cc, features, level, dep_context):
    """(objects, position-independent objects) of all sources for one level."""
    context, outputs = cc_common.compile(
        actions = ctx.actions,
        name = ctx.label.name + "_" + level,
        feature_configuration = features,
        cc_toolchain = cc,
        srcs = ctx.files.srcs,
        public_hdrs = ctx.files.hdrs,
        private_hdrs = ctx.files.textual_hdrs,
        local_defines = ["TM_ISA_NAMESPACE=isa_" + level, "TM_ISA_LEVEL=" + level[1:]],
        user_compile_flags = ctx.attr.copts + ["-march=x86-64-" + level, "-O3", "-fopenmp", "-fno-gnu-unique"],
        compilation_contexts = [dep_context],
    )
    return (
        context,
        _hide_symbols(ctx, cc, level, outputs.objects),
        _hide_symbols(ctx, cc, level, outputs.pic_objects),
    )

def _simd_library_impl(ctx):
    cc = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    dep_info = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    objects, pic_objects, context = [], [], None
    for level in ctx.attr.levels:
        context, plain, pic = _compile_level(ctx, cc, features, level, dep_info.compilation_context)
        objects += plain
        pic_objects += pic

    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = cc,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = depset(objects),
            pic_objects = depset(pic_objects),
        ),
        user_link_flags = ["-fopenmp"],
        linking_contexts = [dep_info.linking_context],
        disallow_dynamic_library = True,
    )
    return [
        DefaultInfo(
            files = depset(objects or pic_objects),
            data_runfiles = ctx.runfiles(files = objects or pic_objects),
        ),
        CcInfo(compilation_context = context, linking_context = linking),
    ]

_simd_library = rule(
    implementation = _simd_library_impl,
    attrs = {
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = [".h"]),
        "levels": attr.string_list(default = _LEVELS),
        "srcs": attr.label_list(allow_files = [".cc"]),
        "textual_hdrs": attr.label_list(allow_files = [".h", ".inc"]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def tm_simd_library(name, srcs, hdrs = [], deps = [], copts = [], **kwargs):
    """Compiles srcs for x86-64-v2, v3 (AVX2, FMA) and v4 (AVX-512) with -O3 and OpenMP; yields CcInfo.

    hdrs declare the kernels of every level; textual_hdrs are private. See Note [Symbols of one CPU level].
    """
    _simd_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        deps = deps,
        copts = ["-Wall", "-Wextra", "-Werror", "-Wno-maybe-uninitialized", "-Wno-array-bounds"] + copts,
        **kwargs
    )
