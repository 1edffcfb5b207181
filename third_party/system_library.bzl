"""system_library: a library that the system's package manager installed, as a Bazel repository.

The repository @NAME holds one cc_library, @NAME//:NAME, whose flags come from pkg-config where the library has a .pc
file and from the attributes where it has none. Its headers are system headers: their warnings are not ours. Nothing is
downloaded. A missing library fails only the targets that use it, with the name of the Debian package.
"""

_BUILD = """package(default_visibility = ["//visibility:public"])

cc_library(
    name = {name},
    hdrs = glob({globs}),
    includes = {includes},
    defines = {defines},
    linkopts = {linkopts},
)
"""

def _missing(rctx, what):
    fail("@%s needs %s: run tools/setup, or apt-get install %s" % (rctx.name, what, rctx.attr.apt))

def _pkg_config_flags(rctx):
    """The flags of the attribute's pkg-config modules, as a list."""
    if not rctx.attr.pkg_config:
        return []
    tool = rctx.which("pkg-config")
    if not tool:
        _missing(rctx, "pkg-config")
    result = rctx.execute([tool, "--cflags", "--libs"] + rctx.attr.pkg_config)
    if result.return_code:
        _missing(rctx, " ".join(rctx.attr.pkg_config))
    return [flag for flag in result.stdout.replace("\n", " ").split(" ") if flag]

def _system_library_impl(rctx):
    flags = _pkg_config_flags(rctx)
    defines = rctx.attr.defines + [flag[2:] for flag in flags if flag.startswith("-D")]
    linkopts = rctx.attr.linkopts + [flag for flag in flags if flag[:2] not in ["-D", "-I"]]

    for header in rctx.attr.check_headers:
        if not rctx.path(header).exists:
            _missing(rctx, header)

    includes = []
    for directory in [flag[2:] for flag in flags if flag.startswith("-I")]:
        if not rctx.path(directory).exists:
            _missing(rctx, directory)
        link = "include%d" % len(includes)
        rctx.symlink(directory, link)
        includes.append(link)

    rctx.file("BUILD.bazel", _BUILD.format(
        name = repr(rctx.name),
        globs = repr([link + "/**" for link in includes]),
        includes = repr(includes),
        defines = repr(defines),
        linkopts = repr(linkopts),
    ))

system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {
        "apt": attr.string(mandatory = True, doc = "Debian packages to name when the library is missing."),
        "check_headers": attr.string_list(doc = "Absolute paths of headers that must exist."),
        "defines": attr.string_list(),
        "linkopts": attr.string_list(),
        "pkg_config": attr.string_list(doc = "pkg-config modules."),
    },
    configure = True,
    environ = [
        "PATH",
        "PKG_CONFIG_PATH",
    ],
    local = True,
)
