// Package container reads container files: which images a build stands on (pure).
//
// A container file is one that is named Containerfile or Dockerfile, in any case,
// alone, before a dot or after one: Dockerfile, Containerfile.test,
// site.Dockerfile. What only looks so is none: lists of ignored files, templates
// and documents (Dockerfile.dockerignore, Dockerfile.j2, Dockerfile.md).
//
// An image is asked for by its name, without tag and digest, and always in full:
// ubuntu:24.04 is docker.io/library/ubuntu. It is asked for by
//
//   - FROM, unless it names an earlier stage or scratch;
//   - COPY and ADD with --from, and RUN with --mount=…,from=…, unless that is a
//     stage of the file, by name or by number, or scratch;
//   - the same after ONBUILD, though only who builds on the image runs it: what
//     they need must stand before them, and nothing in their file says so;
//   - "# syntax=": it is pulled for the build and decides what the file means.
//
// Each stage counts, also one that the last does not need: which stage a module
// builds is not said in the file. No image is only for tests.
//
// Variables are filled in as a build does that is given no argument: from ARG
// before the first FROM, and from what a builder says of its platform. In --from,
// where only some builders fill them in, from ARG and ENV of the stage itself.
// Where that gives no image a fault names the ARG that has no default; if it only
// leaves the tag open, the image is asked for beside the fault. What somebody
// passes by --build-arg or --build-context cannot be seen here.
//
// Owns is always empty: which module makes an image is said by its manifest, not
// by the file that the image is made from. Image brings such a name into the form
// that is used here. An unqualified name is Docker's, whatever else a machine's
// registries.conf may search.
package container
