package imports

import "bytes"

// PointerLimit is below how many bytes Git LFS keeps what it leaves of a file.
const PointerLimit = 1024

// Pointer reports whether these bytes, a whole file or its beginning, are what
// Git LFS leaves in a repository in place of a file that it keeps elsewhere.
func Pointer(text []byte) bool {
	return bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/"))
}
