// Package imports is the build edges that are read from code, one folder per language (pure).
//
// A language reads the files of a module's folder at a commit, and says what
// the module owns (the names that others write to import it) and what its code
// asks for. Nothing of the module is run, and no toolchain is needed. The law:
//
//   - What is found is a function of the files, in whatever order they come.
//   - What the code asks for is read from the code. A list that somebody keeps
//     beside it (go.mod, package.json, Cargo.toml) only says what names mean.
//   - A file that cannot be read is a fault with its place, and never an edge less.
//   - Each name that is owned or asked for has a place, as evidence.
//
// A new language is a folder here with one type that is a Language, and one line
// where the program lists its languages; docs/languages.md says how.
package imports
