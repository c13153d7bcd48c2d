// Package javascript reads the imports of JavaScript and TypeScript (pure).
//
// A file is read by a grammar that is as exact as imports need: an expression, and a
// type, is a row of operands and what stands between them, so that only brackets lie
// in each other. That decides what no look at the text alone can: whether / divides or
// begins a regular expression, and whether < compares, calls with types, or begins an
// element. A file is read once from its beginning to its end; only where TypeScript
// itself tries and goes back is anything read twice, and that has a bound. The law:
//
//   - An import is: import and export … from, of types too (they are compiled against);
//     import x = require("y"); import("y"), also in types and as import.defer and
//     import.source; require("y") and require.resolve("y"), whatever gives require its
//     meaning (a bundle's parameter, createRequire); import.meta.resolve("y"); declare
//     module "y" in a file that is a module; /// <reference types or path> before the
//     first statement; and the package that makes a file's elements, where the file's
//     @jsxImportSource or its tsconfig says that TypeScript imports it.
//   - A name that is computed is none, and no fault. Neither are new URL("x",
//     import.meta.url), require.context, import.meta.glob, a mock's name, and what a comment of
//     JSDoc says. What only a configuration names (extends, types, plugins) is no code.
//   - A name with a protocol (node:, https:, virtual:) belongs to what runs the code,
//     except for npm:. A name that no package can have (@/x, ~/x, $lib/x) is the
//     module's own, if anything.
//   - tsconfig.json (or jsconfig.json), the nearest above a file with what it extends by a
//     path, and the projects beside it that it refers to, maps names. What leads into
//     the module is no import; what leads out of it is a path; and what * or baseUrl
//     would lead to is only believed where the file is there. Configurations are
//     those whose names have tsconfig in them. Which files they include is not asked.
//   - package.json maps names: with # by the nearest one's imports, for every condition;
//     dependencies by the nearest one that has the name: npm:y and workspace:y to y,
//     file:, link:, portal: and a path behind workspace: to that path.
//   - The module owns the names of the packages that lie in no other package, outside
//     of tests, and those of the members of their workspaces (package.json and
//     pnpm-workspace.yaml). Another package.json in a package is an example or a fixture.
//   - A test is what lies in __tests__, __mocks__, __fixtures__, test, tests, e2e or
//     cypress, what has .test, .spec, .test-d, .spec-d, .cy or .e2e in its name, and the
//     configuration of what runs tests. Other configurations take part in the build.
//   - .d.ts is read as any other file. A .js with types in it is read as TypeScript;
//     those of Flow that TypeScript does not have are a fault.
//   - Of .vue and .svelte the scripts at the top are read, in what their lang says. Of their
//     templates, what is code: in braces, and in an attribute with : @ or v- before it; there
//     import() and require() are the only imports that there can be. Of Vue's blocks the src,
//     and of src, href, xlink:href and poster in a template what has ~ before a package. Of
//     the styles at the top @import, @use, @forward, @reference and @plugin: of a package where
//     ~ or pkg: says so, or where a package.json above has the name among its dependencies,
//     since any other name may be that of a file beside this one.
//   - Not read are templates and styles in another language than HTML and CSS with its
//     relatives where they ask without quotes (pug; @import x in Sass's indented form),
//     stylesheets that are files of their own, srcset, what compilers add, .astro, .mdx and
//     node_modules.
//   - HTML's comments are comments in .js, .cjs and .jsx as long as the file is no module.
//
// What is no JavaScript is a fault with its place. Some of it is read all the same,
// where it changes nothing about imports (break outside of a loop).
package javascript
