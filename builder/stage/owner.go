package stage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"

	"noxmesh/builder/layer"
	"noxmesh/builder/rootfs"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// ownerAttribute says whose a file or folder is in the image, where that is another
// than root: on the disk everything is the build's. It stays with a file that a
// command moves, and goes with one that it replaces, as an owner does.
const ownerAttribute = "user.mesh.owner"

// give makes what was just made somebody's in the image. A link stays root's.
func (s *Stage) give(at string) error {
	if s.gives == nil || *s.gives == (Owner{}) {
		return nil
	}
	return mark(at, fmt.Sprintf("%d:%d", s.gives.UID, s.gives.GID))
}

func mark(at, owner string) error {
	info, err := os.Lstat(at)
	if err != nil || info.Mode().Type() == fs.ModeSymlink {
		return err
	}
	err = syscall.Setxattr(at, ownerAttribute, []byte(owner), 0)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return fault.New(fault.Unavailable, "the file system of %q keeps no attributes of files, and so not whose they are in an image", at)
	}
	return err
}

// whose is whose something is in the image: nothing where it is root's.
func whose(at, rel string) (string, error) {
	text := make([]byte, 64)
	n, err := syscall.Getxattr(at, ownerAttribute, text)
	switch {
	case errors.Is(err, syscall.ENODATA), errors.Is(err, syscall.EOPNOTSUPP):
		return "", nil
	case err != nil && !errors.Is(err, syscall.ERANGE):
		return "", err
	}
	owner := string(text[:max(n, 0)])
	if o, ok := ownerOf(owner); err == nil && ok && owner == fmt.Sprintf("%d:%d", o.UID, o.GID) {
		return owner, nil
	}
	return "", fault.New(fault.Invalid, "%q says in its attribute %s whose it is, and that is nobody", document.Short("/"+rel), ownerAttribute)
}

func ownerOf(text string) (o layer.Owner, ok bool) {
	user, group, _ := strings.Cut(text, ":")
	uid, one := number(user)
	gid, two := number(group)
	return layer.Owner{UID: uid, GID: gid}, one && two
}

// number is the number of a user or a group. The last one means nobody.
func number(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return int(n), err == nil && n < math.MaxUint32
}

// Named is who is called USER or USER:GROUP, by name or number, in the files of the
// stage. The group of a number is the same number, and that of a name the user's own.
func (s *Stage) Named(who string) (*Owner, error) {
	user, group, grouped := strings.Cut(who, ":")
	o := &Owner{}
	if uid, ok := number(user); ok {
		o.UID, o.GID = uid, uid
	} else {
		line, err := s.line("passwd", user, 4)
		if err != nil {
			return nil, err
		}
		uid, one := number(line[2])
		gid, two := number(line[3])
		if !one || !two {
			return nil, fault.New(fault.Invalid, "the line of %q in /etc/passwd of the image has no numbers", document.Short(user))
		}
		o.UID, o.GID = uid, gid
	}
	if !grouped {
		return o, nil
	}
	gid, ok := number(group)
	if !ok {
		line, err := s.line("group", group, 3)
		if err != nil {
			return nil, err
		}
		if gid, ok = number(line[2]); !ok {
			return nil, fault.New(fault.Invalid, "the line of %q in /etc/group of the image has no number", document.Short(group))
		}
	}
	o.GID = gid
	return o, nil
}

// line is the line of /etc/passwd or /etc/group that begins with a name.
func (s *Stage) line(file, name string, fields int) ([]string, error) {
	at, err := rootfs.Within(s.Dir, "/etc/"+file)
	if err != nil {
		return nil, err
	}
	var text []byte
	if info, err := os.Lstat(at); err == nil && info.Mode().IsRegular() {
		f, err := os.Open(at)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if text, err = io.ReadAll(io.LimitReader(f, 1<<20)); err != nil {
			return nil, err
		}
	}
	for line := range strings.Lines(string(text)) {
		all := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(all) >= fields && all[0] == name && name != "" {
			return all, nil
		}
	}
	return nil, fault.New(fault.Invalid, "there is no %q in /etc/%s of the image", document.Short(name), file).With("write its number")
}
