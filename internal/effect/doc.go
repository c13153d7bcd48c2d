// Package effect is the one hook at every call to the rim, where the crash runner kills and the fault runner fails.
//
// A program that is killed at any instruction and started again must go on as
// if nothing had happened. That is tested by doing exactly that before and
// after each effect: a build with the tag meshcrash reads MESH_CRASH
// (name#n:before or name#n:after) and ends itself with SIGKILL there, reads
// MESH_FAIL (name#n:ENOSPC) and lets the effect fail, and writes the name of
// each effect it passes to the file MESH_EFFECTS. In every other build the hook
// is the call itself.
package effect
