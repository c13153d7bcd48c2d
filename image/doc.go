// Package image is the name of a container image: which registry has it, in which repository, under which tag or digest.
//
// A name is read as docker and podman read it: without a registry it is Docker's
// own, where one word alone is an official image; ubuntu:24.04 is
// docker.io/library/ubuntu:24.04. It is said in full from then on, so that two
// ways to write one name are one name. Which bytes a tag means is nobody's to
// say here: only a registry knows, and only a digest stays what it is.
package image
