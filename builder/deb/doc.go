// Package deb writes a folder as a Debian package: the same bytes for the same content, wherever it is made.
//
// The folder stands for the root of the machine. Everything in it belongs to
// root, only the executable bit of its files is kept, and every time is the same
// one: nothing of when and where it was made is in a package. What lies in etc is
// the machine's to change, as everybody who packs for Debian has it.
//
//	debian-binary | control.tar.gz: control, conffiles, md5sums | data.tar.gz: the folder
package deb
