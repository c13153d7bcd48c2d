package term

import "noxmesh/internal/fault"

// The exit statuses of every program.
const (
	Answered  = 0 // the question was answered, or the thing done; outstanding is an answer
	CouldNot  = 1 // it could not be done
	Usage     = 2 // the command or its input is wrong
	Unwell    = 3 // answered, and something is unfit, failed, stuck or wrong
	TimedOut  = 4 // waited, and the time ran out
	exitTable = `Exit status:
  0  answered, or done; what is outstanding is an answer
  1  could not
  2  the command, or what it was given, is wrong
  3  answered, and something is unfit, failed, stuck or wrong
  4  waited, and the time ran out
`
)

// ExitHelp is what each help text says of the exit status.
func ExitHelp() string { return exitTable }

// Exit is the exit status of a command that ended with err.
func Exit(err error) int {
	if err == nil {
		return Answered
	}
	switch fault.KindOf(err) {
	case fault.Invalid:
		return Usage
	case fault.Unknown, fault.NotFound, fault.Conflict, fault.Denied, fault.Unavailable, fault.Broken:
		return CouldNot
	}
	return CouldNot
}
