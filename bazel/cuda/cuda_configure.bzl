"""cuda_configure: the repository of an installed CUDA toolkit, or an empty one that says there is none.

Looks at $CUDA_HOME, /usr/local/cuda and Debian's nvidia-cuda-toolkit; needs CUDA 12.5. TIDEMARK_CUDA=off in the
environment acts as though no toolkit were installed; --config=cpu keeps the repository and builds without it.
"""

# The driver library is left out on purpose: a program linked with it does not start where there is no driver.
_LIBRARIES = {
    "cublas": ["-lcublas"],
    "cublasLt": ["-lcublasLt"],
    "cudart": ["-lcudart"],
    "cudnn": ["-lcudnn"],
    "nccl": ["-lnccl"],
}

# The first with cudaGetDriverEntryPointByVersion, which device/cuda/cuda_driver.cc calls.
_OLDEST = [12, 5]

_TOOLKIT_BZL = """NVCC = %r
NVCC_VERSION = %r

# Debian's nvcc brings its own choice of a host compiler.
NVCC_SETS_HOST_COMPILER = %r
ARCHITECTURES = %r
"""

_FLAGS_BZL = """
def _bool_flag_impl(ctx):
    return []

bool_flag = rule(implementation = _bool_flag_impl, build_setting = config.bool(flag = True))
"""

_ENABLE_FLAG = """load(":flags.bzl", "bool_flag")

package(default_visibility = ["//visibility:public"])

bool_flag(
    name = "enable",
    build_setting_default = {available},
)

config_setting(
    name = "enabled",
    flag_values = {{":enable": "True"}},
)
"""

# cccl (Thrust, CUB, libcu++) holds thousands of files that only nvcc reads, and nvcc finds them itself.
_HEADERS = """
cc_library(
    name = "headers",
    hdrs = glob(["include/**"], exclude = ["include/cccl/**"]),
    includes = ["include"],
)
"""

_LIBRARY = """
cc_library(
    name = "{name}",
    linkopts = {linkopts},
    deps = [":headers"],
)
"""

_EMPTY_LIBRARY = """
cc_library(name = "{name}")
"""

def _first_with(rctx, directories, member):
    """The first of the directories that holds `member`, or None."""
    for directory in directories:
        if directory and rctx.path(directory + "/" + member).exists:
            return directory
    return None

def _find_toolkit(rctx):
    """struct(nvcc, include, lib) of the toolkit, or None. Debian's own lies where compilers look by themselves."""
    if rctx.os.environ.get("TIDEMARK_CUDA", "auto") == "off":
        return None
    root = _first_with(rctx, [rctx.os.environ.get("CUDA_HOME"), "/usr/local/cuda"], "bin/nvcc")
    if root:
        lib = _first_with(rctx, [root + "/lib64", root + "/lib"], "libcudart.so")
        return struct(nvcc = root + "/bin/nvcc", include = root + "/include", lib = lib) if lib else None
    if rctx.path("/usr/bin/nvcc").exists and rctx.path("/usr/include/cuda_runtime_api.h").exists:
        return struct(nvcc = "/usr/bin/nvcc", include = None, lib = None)
    return None

def _nvcc_version(rctx, nvcc):
    """(the line that names the build, [major, minor])."""
    result = rctx.execute([nvcc, "--version"])
    if result.return_code:
        fail("%s does not run: %s" % (nvcc, result.stderr))
    release = result.stdout.split("release ")[1].split(",")[0]
    return result.stdout.strip().split("\n")[-1], [int(part) for part in release.split(".")]

def _architectures(version):
    """Architectures that this nvcc can compile for: A100, H100, B200."""
    return ["80", "90"] + (["100"] if version >= [12, 8] else [])

def _write_empty(rctx):
    rctx.file("toolkit.bzl", _TOOLKIT_BZL % (None, "none", False, []))
    names = ["headers"] + sorted(_LIBRARIES)
    rctx.file("BUILD.bazel", _ENABLE_FLAG.format(available = False) + "".join([
        _EMPTY_LIBRARY.format(name = name)
        for name in names
    ]))

def _write_toolkit(rctx, toolkit, version_line, version):
    rctx.file("toolkit.bzl", _TOOLKIT_BZL % (
        toolkit.nvcc,
        version_line,
        toolkit.include == None,
        _architectures(version),
    ))
    build = _ENABLE_FLAG.format(available = True)
    if toolkit.include:
        rctx.symlink(toolkit.include, "include")
        build += _HEADERS
    else:
        build += _EMPTY_LIBRARY.format(name = "headers")
    search = ["-L" + toolkit.lib, "-Wl,-rpath," + toolkit.lib] if toolkit.lib else []
    for name, linkopts in sorted(_LIBRARIES.items()):
        build += _LIBRARY.format(name = name, linkopts = repr(search + linkopts))
    rctx.file("BUILD.bazel", build)

def _cuda_configure_impl(rctx):
    rctx.file("flags.bzl", _FLAGS_BZL)
    toolkit = _find_toolkit(rctx)
    if not toolkit:
        _write_empty(rctx)
        return
    version_line, version = _nvcc_version(rctx, toolkit.nvcc)
    if version < _OLDEST:
        # buildifier: disable=print
        print("%s is older than CUDA 12.5: building without CUDA" % toolkit.nvcc)
        _write_empty(rctx)
        return
    _write_toolkit(rctx, toolkit, version_line, version)

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    configure = True,
    environ = [
        "CUDA_HOME",
        "TIDEMARK_CUDA",
    ],
    local = True,
)
