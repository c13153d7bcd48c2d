package lock

import (
	"encoding/hex"
	"strings"

	"noxmesh/internal/fault"
)

// DecodeCargo reads a Cargo.lock. A package of the tree itself has no source, and
// is none from outside.
func DecodeCargo(file string, data []byte) (all []Crate, faults []error) {
	var now map[string]string // the package that is read
	first := 0
	end := func() {
		if now == nil || now["source"] == "" {
			return
		}
		c, err := crate(now)
		if err != nil {
			faults = append(faults, fault.Add(err, "%s", at(file, first)))
			return
		}
		c.In = file
		all = append(all, c)
	}
	lines(data, func(n int, line string) {
		if strings.HasPrefix(line, "[") {
			end()
			now = nil
			if line == "[[package]]" {
				now, first = map[string]string{}, n
			}
			return
		}
		key, value, ok := strings.Cut(line, " = ")
		if now == nil || !ok {
			return
		}
		if text, quoted := strings.CutPrefix(value, `"`); quoted {
			now[key] = strings.TrimSuffix(text, `"`)
		}
	})
	end()
	return all, faults
}

func crate(said map[string]string) (Crate, error) {
	c := Crate{Name: said["name"], Version: said["version"]}
	if !only(c.Name, "-_") || len(c.Name) > 64 {
		return c, fault.New(fault.Invalid, "%q is no name of a crate", short(c.Name))
	}
	if !only(c.Version, ".-+") {
		return c, fault.New(fault.Invalid, "%q is no version", short(c.Version))
	}
	switch said["source"] {
	case "registry+https://github.com/rust-lang/crates.io-index", "sparse+https://index.crates.io/":
	default:
		return c, fault.New(fault.Invalid, "%q comes from %q, and only crates of crates.io are fetched", c.Name, short(said["source"])).
			With("cargo vendor brings it into the tree")
	}
	b, err := hex.DecodeString(said["checksum"])
	if err != nil || len(b) != SHA256.size() {
		return c, fault.New(fault.Invalid, "%q has no checksum", c.Name).With("cargo generate-lockfile writes it")
	}
	c.Hash = Hash{SHA256, hex.EncodeToString(b)}
	return c, nil
}
