// Package clock is the wall clock of this machine, which a test build can set wrong while the program runs.
//
// What a person or another machine will read, and what outlives the process, is
// a time of this clock. It may stand at 1970 or at 2100 and may step by an hour
// at any moment, so nothing may be decided by subtracting two of its readings
// of different processes: a duration is measured with the monotonic reading,
// which every time that Now returns carries, as those of time.Now do.
//
// A build with the tag meshcrash adds the offset in MESH_CLOCK ("876000h",
// "-1h") and the one in the file MESH_CLOCK_FILE, read anew at each call, to the
// wall reading alone: the monotonic reading goes on evenly, as a machine's does
// whose clock is set. What third parties read (the broker's and the record's
// libraries, child processes) is the real clock in that build too.
package clock
