// Package effect is the one hook at every call to the rim, where the crash runner kills and the fault runner fails.
//
// A program that is killed at any instruction and started again must go on as
// if nothing had happened. That is tested by doing exactly that before and
// after each effect. A build with the tag meshcrash ends itself with SIGKILL at
// MESH_CRASH (name#n:before or name#n:after, or the first that it comes to of
// several with commas between), and with MESH_POWER cuts the power of the file
// systems mounted there at that moment; lets effects fail by MESH_FAIL
// (name#n:ENOSPC, or name:ENOSPC for every time, with commas between), where
// MESH_FAIL_WHILE names a folder for as long as a file of that name is in it, and
// the error says at which place it is, so that whoever reads it knows; and
// writes the name of each effect it passes to the file MESH_EFFECTS; and with
// MESH_STOPS waits before each of them until it is let go on. One name stands for many
// things that a program does: the commit of a report, and that of a lease. They are told apart by the way on which the program came to the effect,
// which MESH_WAYS lists and a point may name (name@way#n). In every other build
// the hook is the call itself.
package effect
