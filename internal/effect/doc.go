// Package effect is the one hook at every call to the rim, where the crash runner kills and the fault runner fails.
//
// A program that is killed at any instruction and started again must go on as
// if nothing had happened. That is tested by doing exactly that before and
// after each effect. A build with the tag meshcrash ends itself with SIGKILL at
// MESH_CRASH (name#n:before or name#n:after), and with MESH_POWER cuts the power
// of the file systems mounted there at that moment; lets an effect fail by MESH_FAIL
// (name#n:ENOSPC); and writes the name of each effect it passes to the file
// MESH_EFFECTS. In every other build the hook is the call itself.
package effect
