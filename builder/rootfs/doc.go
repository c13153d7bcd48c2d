// Package rootfs is the root file systems of images: pulled by digest, unpacked once, and kept for the next build.
//
// What is kept is right or is not there: each layer is checked as it came and as
// it unpacks, and a root file system gets its name only when all of it is on the
// disk. Nothing of an image is ever run here. A layer can write nowhere but below
// the new root, whatever its links say; it brings no devices, no owners, no bits
// that give rights, and its files are readable by everybody. Of all that is kept,
// what was not used for longest goes first.
package rootfs
