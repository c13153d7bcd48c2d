// Package packages is what the package manager of a machine has installed, and what it is asked to install and to remove.
//
// What is installed is read from the manager's own files, without a network; of rpm, which
// keeps a database, by one child process, and by none while that is as it was. Nothing is
// asked of anybody but the manager, it never asks back, and it never takes away what it
// was not asked to. It outlives the host that has started it: a manager that is ended in
// the middle of its work leaves a machine behind that somebody has to repair.
package packages
