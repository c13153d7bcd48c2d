package inventory

import (
	"time"

	"noxmesh/document"
	"noxmesh/report"
)

// Secret is the value of a secret on one node, sealed to that node's key.
type Secret struct {
	Node, Module, Name string
	Version            int64
	Sealed             string
	By                 string
	At                 time.Time
	Applied            int64 // the version that the node has reported to have; 0: none
	AppliedAt          time.Time
}

// SecretFile is a file with secrets as a declaration has it.
type SecretFile struct {
	Digest   document.Digest  `json:"digest"`   // of the declared resource
	Versions map[string]int64 `json:"versions"` // by the name of a secret
}

// AppliedSecrets is what a report on a declaration with these files, by their ids,
// says of its secrets: by module and name the version that is in every file of the
// module that has it. A secret of which one file is not as declared has none.
func AppliedSecrets(r report.Report, files map[string]SecretFile) map[string]map[string]int64 {
	right := map[string]document.Digest{}
	for _, res := range r.Resources {
		if res.State == report.StateOK || res.State == report.StateChanged {
			right[res.ID] = res.Digest
		}
	}
	applied, wrong := map[string]map[string]int64{}, map[[2]string]bool{}
	for id, f := range files {
		module := ModuleOf(id)
		if applied[module] == nil {
			applied[module] = map[string]int64{}
		}
		for name, version := range f.Versions {
			applied[module][name] = version // the same in every file of a declaration
			wrong[[2]string{module, name}] = wrong[[2]string{module, name}] || right[id] != f.Digest
		}
	}
	for of, is := range wrong {
		if is {
			delete(applied[of[0]], of[1])
		}
	}
	return applied
}
