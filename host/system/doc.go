// Package system is the operating system as the host sees it.
//
// Every path is one below the root that the host was given, and no operation
// leaves it: a directory is reached one name at a time, and a symbolic link on
// the way is resolved inside the root, as chroot(2) would. Once reached, a
// directory is a handle. What is done in it names one entry of it, and never
// follows a link in that entry's place.
package system
