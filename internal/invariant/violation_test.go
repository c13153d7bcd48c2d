package invariant_test

import (
	"noxmesh/declaration"
	"noxmesh/internal/invariant"
	"noxmesh/report"
)

func always() []violation {
	return append(append(claims(), contents()...), keepings()...)
}

// claims violate I2.
func claims() []violation {
	return []violation{
		{"I2 site on n1: applied is said, and there is no report", func(s *invariant.Seen) {
			s.Record.Nodes[0].Report, s.Said.Nodes[0].State, s.Said.Nodes[0].NotWorkedOut, s.Nodes[0].Committed = nil, "outstanding", 1, 0
		}},
		{"I2 site on n1: applied is said of", func(s *invariant.Seen) { s.Said.Modules[0].On[0].Content = sum("another") }},
		{"I2 site on n1: applied is said of", func(s *invariant.Seen) {
			r := s.Record.Nodes[0].Report
			r.Resources = append(r.Resources, report.Resource{ID: "site/other", State: report.StateWaiting})
			s.Said.Nodes[0].State, s.Said.Nodes[0].NotWorkedOut = "outstanding", 1
		}},
		{"I2 n1: the recorded report is not signed", func(s *invariant.Seen) { s.Record.Nodes[0].Signed = false }},
		{"I2 n1: it reports that 1/3", func(s *invariant.Seen) {
			s.Record.Nodes[0].Report.Applied = tuple(3, "c")
			s.Said.Nodes[0].State, s.Said.Nodes[0].NotWorkedOut = "outstanding", 1
		}},
		{"I2 n1: applied is said of the node", func(s *invariant.Seen) { s.Record.Nodes[0].Report.Applied = tuple(1, "a") }},
		{"I2 n2: the record says that it has accepted 1/2", func(s *invariant.Seen) { s.Record.Nodes[1].Accepted = tuple(2, "d") }},
		{"I2 n2: the record says that 1/2", func(s *invariant.Seen) { s.Record.Nodes[1].Sent = tuple(2, "d") }},
		{"I2 node1:/etc/site: the host's record says that it read back", func(s *invariant.Seen) { s.Nodes[0].Things[0].Found = "" }},
		{"I2 node1: its report says that site/file is ok", func(s *invariant.Seen) { s.Nodes[0].Things[0].Resource = "site/other" }},
		{"I2 site on n1: build " + sum("build").Short() + " is declared, and no verdict", func(s *invariant.Seen) {
			s.Record.Builds[0].Fit, s.Record.Declared = false, s.Record.Declared[:1]
		}},
	}
}

// contents violate I3, I4 and I5.
func contents() []violation {
	return []violation{
		{"I3 site@" + string(sum("manifest")) + ": it can be seen, and its blob", func(s *invariant.Seen) { delete(s.Registry.Blobs, sum("blob")) }},
		{"I3 site@" + string(sum("manifest")) + ": its blob", func(s *invariant.Seen) {
			s.Registry.Blobs[sum("blob")] = invariant.Blob{Size: 3, Sum: sum("blob")}
		}},
		{"I3 " + string(sum("orphan")) + ": the blob can be pulled, and its bytes are", func(s *invariant.Seen) {
			s.Registry.Blobs[sum("orphan")] = invariant.Blob{Size: 6, Sum: sum("half")}
		}},
		{"I3 site@" + string(sum("manifest")) + ": its bytes are", func(s *invariant.Seen) { s.Registry.Manifests[0].Encoded = sum("half") }},
		{"I3 site@" + string(sum("manifest")) + ": it can be seen, and is no manifest: half", func(s *invariant.Seen) { s.Registry.Manifests[0].Unreadable = "half" }},
		{"I3 site " + sum("build").Short() + ": it is recorded as published", func(s *invariant.Seen) { s.Registry.Manifests = nil }},
		{"I3 site on n2: build " + sum("never").Short() + " is declared, and is not in the record", func(s *invariant.Seen) { s.Record.Declared[1].Build = sum("never") }},
		{"I4 site: build " + sum("build").Short() + " has a manifest that is", func(s *invariant.Seen) { s.Record.Builds[0].Encoded = sum("other") }},
		{"I4 site: build " + string(sum("build")) + " is both", func(s *invariant.Seen) { again(s, func(b *invariant.Build) { b.Content = sum("other") }) }},
		{"I4 site: closure site tree is both", func(s *invariant.Seen) {
			again(s, func(b *invariant.Build) { b.ID, b.Encoded, b.Request = sum("other"), sum("other"), "r2" })
		}},
		{"I4 site: the build of request r1 is both", func(s *invariant.Seen) {
			again(s, func(b *invariant.Build) { b.ID, b.Encoded, b.Closure = sum("other"), sum("other"), "other tree" })
		}},
		{"I4 r1: one request has more than one recorded answer", func(s *invariant.Seen) { s.Record.Answers = append(s.Record.Answers, s.Record.Answers[0]) }},
		{"I4 n2: n2 1/1 is both", func(s *invariant.Seen) {
			s.Record.Ledger = append(s.Record.Ledger, invariant.Issued{Node: "n2", Tuple: tuple(1, "other")})
		}},
		{"I4 node1: n1 1/2 is both", func(s *invariant.Seen) { accept(s, tuple(2, "b"), tuple(2, "other")) }},
		{"I5 node1: it had accepted 1/2", func(s *invariant.Seen) {
			accept(s, tuple(2, "b"), tuple(1, "a"))
			s.Nodes[0].Away = true
			s.Record.Nodes[0] = invariant.NodeRow{Node: "n1"}
			s.Said.Nodes = nil
			s.Nodes[0].Committed = 0
		}},
		{"I5 node1: it has accepted 1/2", func(s *invariant.Seen) { s.Nodes[0].History[2].Signed = false }},
		{"I5 n2: 1/1", func(s *invariant.Seen) {
			s.Record.Ledger = append(s.Record.Ledger, invariant.Issued{Node: "n2", Tuple: declaration.Tuple{Epoch: 0, Generation: 3, Digest: sum("e")}})
			s.Record.Ledger[3].Tuple.Generation = 4
		}},
	}
}

func again(s *invariant.Seen, change func(*invariant.Build)) {
	b := s.Record.Builds[0]
	change(&b)
	s.Record.Builds = append(s.Record.Builds, b)
}

func accept(s *invariant.Seen, all ...declaration.Tuple) {
	s.Nodes[0].History = nil
	for _, t := range all {
		s.Nodes[0].History = append(s.Nodes[0].History, invariant.Accepted{Tuple: t, Signed: true})
	}
}

// keepings violate I6 to I10.
func keepings() []violation {
	wait := func(w invariant.Wait) func(*invariant.Seen) {
		return func(s *invariant.Seen) { s.Said.Modules[0].Waits = []invariant.Wait{w} }
	}
	trouble := func(t invariant.Trouble) func(*invariant.Seen) {
		return func(s *invariant.Seen) { s.Said.Nodes[0].Trouble = &t }
	}
	return []violation{
		{"I6 b1: its answer to request r7", func(s *invariant.Seen) { s.Acks[0].Key = "r7" }},
		{"I6 n1: its report 10 was acknowledged", func(s *invariant.Seen) { s.Nodes[0].Committed = 10 }},
		{"I6 n1: its report 10 was acknowledged", func(s *invariant.Seen) {
			s.Acks = append(s.Acks, invariant.Ack{Kind: invariant.AckReport, From: "n1", Sequence: 10})
		}},
		{"I6 site on n1: that it is declared was acknowledged", func(s *invariant.Seen) { s.Record.Declared = s.Record.Declared[1:] }},
		{"I7 node1:/etc/mine: somebody else put \"mine\" there, and there is \"\"", func(s *invariant.Seen) { s.Nodes[0].Foreign[0].Found = "" }},
		{"I7 node1:/etc/mine: somebody else put it there, and the host's record", func(s *invariant.Seen) {
			s.Nodes[0].Things = append(s.Nodes[0].Things, invariant.Thing{Path: "/etc/mine", Made: true})
		}},
		{"I8 site: it waits, and nothing says why", wait(invariant.Wait{Since: at(1)})},
		{"I8 site: it waits, and nothing says since when: a builder", wait(invariant.Wait{For: "a builder"})},
		{"I8 site: it waits since 2030-01-01T00:31:00Z, which is not yet", wait(invariant.Wait{For: "a builder", Since: at(31)})},
		{"I8 source of site: it waits, and nothing says why", func(s *invariant.Seen) { s.Said.Modules[0].State, s.Said.Modules[0].Since = "unreachable", at(1) }},
		{"I8 n1: the same trouble came 3 times, and stuck is false", trouble(invariant.Trouble{Says: "full", Since: at(1), Count: 3})},
		{"I8 n1: the same trouble came 2 times, and stuck is true", trouble(invariant.Trouble{Says: "full", Since: at(1), Count: 2, Stuck: true})},
		{"I8 n1: there is trouble that came 0 times", trouble(invariant.Trouble{Says: "full", Since: at(1)})},
		{"I8 site: it waits, and nothing says since when: full", func(s *invariant.Seen) {
			s.Said.Modules[0].Troubles = []invariant.Trouble{{Says: "full", Count: 1}}
		}},
		{"I8 site on n2: it has failed, and nothing says why", func(s *invariant.Seen) { s.Said.Modules[0].On[1].Failed = true }},
		{"I8 n2: it is refused, and nothing says why", func(s *invariant.Seen) { s.Said.Nodes[1].State = "refused" }},
		{"I8 n2: it is quarantined, and nothing says why", func(s *invariant.Seen) { s.Said.Nodes[1].State = "quarantined" }},
		{"I8 n2 site/file: it is blocked, and nothing says why", func(s *invariant.Seen) {
			s.Said.Nodes[1].Failing = []invariant.Failing{{Resource: "site/file", State: "blocked"}}
		}},
		{"I9 controller.log: the secret \"password\" is there in plain", func(s *invariant.Seen) { s.Canaries[0].Found = []string{"controller.log"} }},
		{"I10 memory: 6 is used, and at most 5 may be", func(s *invariant.Seen) { s.Usage[0].Used = 6 }},
	}
}

// atEnd violate I1, and what else may be so for a while.
func atEnd() []violation {
	return []violation{
		{"I1 site: the mesh does not know the module", func(s *invariant.Seen) { s.Said.Modules = nil }},
		{"I1 site: its source is at 2222222, and the mesh knows 1111111", func(s *invariant.Seen) { s.Sources[0].Commit = "2222222222" }},
		{"I1 site: 1111111 is not built, and no reason is shown", func(s *invariant.Seen) { s.Said.Modules[0].Current = false }},
		{"I1 site on n1: 1111111 is not declared", func(s *invariant.Seen) { s.Said.Modules[0].On[0].Declared = false }},
		{"I1 site on n1: 1111111 is not applied", func(s *invariant.Seen) { s.Said.Modules[0].On[0].Applied = false }},
		{"I1 n1: it is outstanding, and no reason is shown", func(s *invariant.Seen) { s.Said.Nodes[0].State = "outstanding" }},
		{"I5 node1: it has accepted 1/3", func(s *invariant.Seen) {
			s.Nodes[0].History = append(s.Nodes[0].History, invariant.Accepted{Tuple: tuple(3, "never"), Signed: true})
		}},
		{"I10 /var/tmp/mesh-builder-1: it is left behind", func(s *invariant.Seen) { s.Left = []string{"/var/tmp/mesh-builder-1"} }},
	}
}
