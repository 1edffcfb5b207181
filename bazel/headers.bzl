"""The public headers of a library and of everything of ours that it includes, as files: for packages and for tests."""

def _tm_headers_impl(ctx):
    all_headers = depset(transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps])
    ours = [header for header in all_headers.to_list() if header.is_source and not header.owner.workspace_name]
    return [DefaultInfo(files = depset(ours), runfiles = ctx.runfiles(ours))]

tm_headers = rule(
    implementation = _tm_headers_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)
