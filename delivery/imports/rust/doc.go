// Package rust reads Rust: what its packages own, and which others their code asks for (pure).
//
// A package is a Cargo.toml with a [package] in the module's folder. The module owns
// its name, and the name of its library, which is what others write. Vendored copies
// and what was compiled (vendor and target beside a manifest) are nobody's.
//
// Read is the files that the compiler would read: it begins with the targets that
// Cargo would find or that the manifest names, and follows mod, #[path] and
// include!. A file that none of them leads to is not read. What #[cfg] keeps from
// the platform is not read either; a feature, or a flag that somebody may pass to the
// compiler, may be on or off, and counts as on.
//
// A package is asked for where the first name of a path is what the manifest calls
// it, for that target and platform: in use, extern crate, expressions, types,
// attributes and macros, by its own name, renamed, or through the workspace, and
// unless the scope has a module, a type or an import of that name. A name that
// is listed nowhere is asked for as it is written, if something is listed that
// the code never names: only the other package knows what it calls its library.
// Files outside of the folder, which #[path] and include! reach for, are paths.
//
// Tests ask for what tests/, benches/ and examples/ name, what stands behind
// cfg(test) or in a #[test], and what only [dev-dependencies] lists.
//
// A macro's body, and what a macro is given, is code like any other, since that is what
// it mostly becomes: $crate is the crate itself. The bodies of quote! and its like
// and of stringify! are templates for the code of others, and ask for nothing.
//
// What cannot be seen: names that a macro makes (serde, where only serde_derive is
// written), modules that a build script writes,
// paths in texts (serde's with = "…"), code in the comments that document, names that
// come by use …::* from other crates and hide a crate's, functions of another crate that are
// imported by a crate's name, and a dependency whose code is only linked.
package rust
