package system

import (
	"errors"
	"io"
	"os"
	"path"
	"syscall"
)

// sysctls is where the kernel has its sysctls.
const sysctls = "/proc/sys"

const sysctlMost = 64 << 10 // more than a page no value has

// Sysctl is the value of a sysctl, as the kernel writes it. Its name is a path below
// /proc/sys.
func (r *Root) Sysctl(name string) (string, error) {
	if err := r.works("/proc/sys/" + name); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path.Join(sysctls, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, sysctlMost))
	return string(b), err
}

// SetSysctl has the kernel take another value, in one write.
func (r *Root) SetSysctl(name, value string) error {
	if err := r.works("/proc/sys/" + name); err != nil {
		return err
	}
	f, err := os.OpenFile(path.Join(sysctls, name), os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value + "\n")
	return errors.Join(err, f.Close())
}

// Shut reports whether err says that nobody may: not this user, or not here at all.
func Shut(err error) bool {
	return errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EROFS)
}

// IsDirectory reports whether err says that it is a directory, and no file.
func IsDirectory(err error) bool { return errors.Is(err, syscall.EISDIR) }
