// Package mounts is what is mounted on a machine, and what /etc/fstab says of it (pure).
//
// Both are read as the kernel and mount(8) write them. Of fstab, what is not asked
// for is kept byte for byte: comments, lines of others, and how they are laid out.
// Options are compared as far as the kernel says what became of them; of what it
// does not say nothing is claimed.
package mounts
