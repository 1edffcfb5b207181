"""The rules of tools/lint, one module a subject."""
