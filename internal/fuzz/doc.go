// Command fuzz runs the fuzz targets, each until it has had its CPU time.
//
// The measure is what the fuzzing process and its one worker have spent, user
// and system, so that a busy machine makes a run longer and never thinner.
// What each target has had is kept beside the corpora in Go's build cache: a
// run that is stopped goes on where it was, and a target begins again where its
// package, what that imports, or its own file is other than then. What has had
// ten minutes is written into long.txt beside this, which belongs to the source:
// it shows what has been done, and no other machine does it again. To pause one,
// end it: where it is only halted (SIGSTOP), go test takes a worker that has stood
// still for ten seconds for one that hangs, and its input for a failing one. A failing
// input is written to the package's testdata, as go test -fuzz does it, the next
// target goes on, and the end is 1.
package main
