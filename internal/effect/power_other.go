//go:build meshcrash && !linux

package effect

func cut(mounts string) {
	if mounts != "" {
		panic("MESH_POWER: the power of a file system can only be cut on Linux")
	}
}
