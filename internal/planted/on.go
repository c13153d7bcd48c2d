//go:build meshbugs

package planted

import "os"

// Is reports whether this bug is planted.
func Is(name string) bool { return os.Getenv("MESH_BUG") == name }
