// Package python is the build edges of Python, read from imports and from where a project's packages lie (pure).
//
// A module owns what others import it by: of each of its projects the packages
// and modules that pyproject.toml, setup.cfg or the literals of setup.py say, or
// else what lies in src or beside them. A folder without an __init__ of its own
// (PEP 420), or with one that says it is shared (pkgutil, setuptools), is gone
// into, and what is owned is the first below it that is nobody else's:
// opentelemetry.sdk and not opentelemetry. A module without a project owns its
// own package, or else what lies in its folder and in src.
//
// Of build back ends the tables of hatchling, poetry, flit, pdm, uv, setuptools
// and scikit-build-core are read, and of maturin those about Python. Any other is
// taken for setuptools without a table: meson-python, whose packages meson.build
// names, pbr, sip, whey, enscons, and one that is a project's own (backend-path).
// What hooks of hatchling and pdm add is not known, and neither are patterns: what
// stands before the first * of one counts.
//
// What is asked for is every import statement, wherever it stands, and the calls
// import_module("a.b") and __import__("a.b"). "from a import b" asks for a.b,
// because b may be a module. A name that a script or a test finds in the module
// itself is none, and neither is one of the language (Python 3.13).
//
// What cannot be seen: a name that is computed, what setup.py or a plugin of a
// build backend computes, sys.path that a program changes, entry points, names
// that are started with runpy, and modules that are built from anything but
// Python. Type comments and doctests are none. Names outside of ASCII are taken
// as they are written, without NFKC.
//
// A file is a fault where CPython's tokenizer refuses it, where its brackets,
// blocks, clauses or import statements are not whole, and where operands and
// operators do not take turns. What a name is assigned to, the order of
// arguments and the meaning of a pattern are not looked at. An encoding is read
// where it is UTF-8, ASCII or Latin-1, or where the file is ASCII all the same.
package python
