package builder

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// refused are the system calls that no compiler and no test needs and that the
// kernel's worst faults were found behind. Without capabilities most are refused
// anyway: this keeps their code from being reached at all.
func refused() []uint32 {
	return []uint32{
		unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_REQUEST_KEY,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SYSLOG, unix.SYS_QUOTACTL, unix.SYS_ACCT,
	}
}

// architecture is how the kernel calls the one whose numbers refused has, or 0
// where we do not know.
func architecture() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	}
	return 0
}

// filter is a seccomp program: the refused calls, and all calls by another
// architecture's numbers (which would go round it), end with "not permitted".
// Tracing stays, for the tests that need it, but for what keeps a process from
// ending though it was killed (a stop at its exit), and of the sandbox's first.
func filter(arch uint32, calls []uint32) []unix.SockFilter {
	const (
		number   = 0 // offsets in struct seccomp_data; of an argument its lower half
		where    = 4
		argument = 16
		x32      = 0x40000000
	)
	load := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: k}
	}
	end := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	equal := func(k uint32, then, otherwise uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: then, Jf: otherwise}
	}
	tracing := []unix.SockFilter{ // allowed at its end, refused one further
		equal(unix.SYS_PTRACE, 0, 7),
		load(argument + 8), // whom
		equal(1, 6, 0),
		load(argument), // what
		equal(unix.PTRACE_SETOPTIONS, 1, 0),
		equal(unix.PTRACE_SEIZE, 0, 2),
		load(argument + 3*8), // with which options
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.PTRACE_O_TRACEEXIT, Jt: 1, Jf: 0},
	}
	last := uint8(len(calls) + len(tracing) + 1) // from the first comparison of numbers to the refusal
	program := []unix.SockFilter{
		load(where),
		equal(arch, 0, last+2),
		load(number),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: x32, Jt: last, Jf: 0},
	}
	for i, n := range calls {
		program = append(program, equal(n, last-uint8(i)-1, 0))
	}
	program = append(program, tracing...)
	return append(program, end(unix.SECCOMP_RET_ALLOW), end(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)))
}

// filterFile is the program as bubblewrap reads it, or nil where there is none
// for this architecture.
func filterFile() (*os.File, error) {
	arch := architecture()
	if arch == 0 {
		return nil, nil //nolint:nilnil // no filter is no error
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, filter(arch, refused())); err != nil {
		return nil, fault.Wrap(fault.Broken, err, "write the filter of system calls")
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "make a sandbox")
	}
	defer write.Close()
	if _, err := write.Write(b.Bytes()); err != nil { // it is smaller than a pipe
		read.Close()
		return nil, fault.Wrap(fault.Unavailable, err, "make a sandbox")
	}
	return read, nil
}
