"""The rules that Tidemark's BUILD files use: cc_* with the project's warnings, and kernels for several CPU levels."""

load("//bazel/simd:simd_library.bzl", _tm_simd_library = "tm_simd_library")

tm_simd_library = _tm_simd_library

# The last five are gcc 12's false alarms in libstdc++'s own headers at -O2 and -O3.
WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
    "-Wno-array-bounds",
    "-Wno-maybe-uninitialized",
    "-Wno-restrict",
    "-Wno-stringop-overflow",
    "-Wno-stringop-overread",
]

def _with_project_flags(kwargs):
    openmp = ["-fopenmp"] if kwargs.pop("openmp", False) else []
    kwargs["copts"] = WARNINGS + openmp + kwargs.get("copts", [])
    kwargs["linkopts"] = openmp + kwargs.get("linkopts", [])
    return kwargs

def tm_cc_library(name, **kwargs):
    """cc_library with the project's warnings as errors. `openmp = True` compiles and links with OpenMP.

    Static: a wildcard would else also link a .so that nobody uses.
    """
    native.cc_library(name = name, linkstatic = True, **_with_project_flags(kwargs))

def tm_cc_binary(name, **kwargs):
    """cc_binary with the project's warnings as errors; `openmp` as in tm_cc_library."""
    native.cc_binary(name = name, **_with_project_flags(kwargs))

def tm_cc_test(name, deps = [], size = "small", gtest_main = True, **kwargs):
    """cc_test with the project's warnings as errors, size small unless told, and GoogleTest's main().

    `gtest_main = False` gives GoogleTest without a main().
    """
    native.cc_test(
        name = name,
        size = size,
        deps = deps + ["@googletest//:gtest_main" if gtest_main else "@googletest//:gtest"],
        **_with_project_flags(kwargs)
    )

def tm_py_test(name, size = "small", main = None, **kwargs):
    """A test in Python: the file `main` (NAME.py), which must be executable and begin with #!/usr/bin/python3.

    Not py_test: its launcher looks for a program called `python`, which Debian does not have. Modules that it imports
    go into `data`, and the test finds them beside itself.
    """
    native.sh_test(name = name, size = size, srcs = [main or name + ".py"], **kwargs)
