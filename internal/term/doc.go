// Package term is how the programs talk to a person.
//
// The rules, for every command of every program:
//
//   - Results go to stdout and nothing else does. Words about them (progress,
//     notes, errors, hints) go to stderr. "mesh status > file" is a file of
//     status.
//   - A word begins with the program's name and a colon, in lower case, without
//     a full stop: "mesh: read manifest of "dns": line 12: unknown field".
//   - Whoever is refused is told what to do next, on a line of its own: "mesh:
//     hint: …", one sentence or the exact command to type.
//   - Colour stands only beside a word that says the same, and only on a
//     terminal, without NO_COLOR, and not on a dumb one. A line that rewrites
//     itself is only on a terminal.
//   - Tables fit the terminal. What is cut is prose; an id, a name or a digest
//     is never cut, and nothing is cut when stdout is no terminal.
//   - A string that came from a machine, a repository or a build is data. What a
//     terminal would obey in it is shown as \x1b and not sent.
//   - With "-o json" a result is one JSON value on stdout, and an error one JSON
//     object on stderr: {"error":{"kind":…,"text":…,"hint":…}}.
//   - The exit status is one of five, and every help text says so.
//
// The package decides how a thing is said and never what is.
package term
