"""A shared library for other programs: every object of the given libraries and of what they use, not only those that
one program happens to call. What they see of it is what `exports` names."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# The rest of the build makes objects for programs only. The toolchain does not know of -fPIC (no feature supports_pic),
# so it is an ordinary flag.
def _position_independent_impl(settings, _attr):
    return {"//command_line_option:copt": settings["//command_line_option:copt"] + ["-fPIC"]}

_position_independent = transition(
    implementation = _position_independent_impl,
    inputs = ["//command_line_option:copt"],
    outputs = ["//command_line_option:copt"],
)

def _tm_shared_library_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    objects = []
    archives = []
    flags = []
    for dep in ctx.attr.deps:
        for linker_input in dep[CcInfo].linking_context.linker_inputs.to_list():
            flags += linker_input.user_link_flags
            for library in linker_input.libraries:
                own = library.pic_objects or library.objects
                if own:
                    objects += own
                else:
                    archive = library.pic_static_library or library.static_library or library.dynamic_library
                    archives.append(archive)
    objects = depset(objects).to_list()
    archives = depset(archives).to_list()
    out = ctx.actions.declare_file(ctx.attr.name)
    args = ctx.actions.args()
    args.add_all(["-shared", "-o", out, "-Wl,-z,defs", "-Wl,--version-script=" + ctx.file.exports.path])
    args.add_all(objects)
    args.add_all(archives)
    args.add_all(depset(flags).to_list())
    args.add("-lstdc++")
    args.add("-lm")
    ctx.actions.run(
        executable = toolchain.compiler_executable,
        arguments = [args],
        inputs = depset(objects + archives + [ctx.file.exports], transitive = [toolchain.all_files]),
        outputs = [out],
        mnemonic = "SharedLibrary",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles([out]))]

tm_shared_library = rule(
    implementation = _tm_shared_library_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo], cfg = _position_independent),
        "exports": attr.label(allow_single_file = True, mandatory = True, doc = "A version script of the linker"),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
        "_cc_toolchain": attr.label(default = Label("@bazel_tools//tools/cpp:current_cc_toolchain")),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
