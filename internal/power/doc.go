// Package power is disks for tests whose power can be cut, which can be full, and which can be shut against writing.
//
// A disk is an ext4 file system of its own on a loop device, its image in
// memory. A cut shuts the file system down without flushing its log, mounts it
// again and lets it replay: what a program had not synced is gone, as after a
// real power cut, in milliseconds. A build with the tag meshcrash cuts the power itself at
// any of its effects (MESH_CRASH with MESH_POWER); then Back mounts it again.
//
// It needs root, loop devices and mkfs.ext4. Where one is missing the test is
// skipped and says which. make power runs the tests that use it in a mount namespace of
// their own, so that nothing stays mounted, however they end.
package power
