package host

import (
	"slices"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

const (
	// envelopeRoom is what of the controller's limit is left to all of a report but its resources.
	envelopeRoom = 256 << 10
	// lineRoom is at most what a resource takes in a report beside its texts, its id and its
	// digest, and rareRoom what it takes of what most have none of.
	lineRoom, rareRoom = 48, 128
)

// fitting is the report, cut so that a controller takes it. Texts are shortened
// first, then resources that are as declared are left out, then others: the last
// to go is the first resource of each module that is not as declared, so that a
// module is never taken for applied because a report was long.
func fitting(r report.Report) (report.Report, error) {
	for _, texts := range []int{report.TextLimit, 256, 64} {
		r.Resources = shortened(r.Resources, texts)
		fits, err := fit(r.Resources)
		if err != nil || fits {
			return r, err
		}
	}
	kept := make([]report.Resource, 0, len(r.Resources))
	left := report.Limits.Bytes - envelopeRoom
	for _, rank := range ranked(r.Resources) {
		for _, res := range rank {
			size, err := sizeOf(res)
			if err != nil {
				return r, err
			}
			if left -= size; left < 0 || len(kept) == report.ResourceLimit {
				r.Resources = kept
				return r, nil
			}
			kept = append(kept, res)
		}
	}
	r.Resources = kept
	return r, nil
}

// ranked is the resources by how much they matter where there is no room for all.
func ranked(all []report.Resource) [3][]report.Resource {
	var ranks [3][]report.Resource
	said := map[string]bool{}
	for _, res := range all {
		rank := 2
		if res.State != report.StateOK && res.State != report.StateChanged && res.State != report.StateRemoved {
			module, _, _ := strings.Cut(res.ID, "/")
			rank = 0
			if said[module] {
				rank = 1
			}
			said[module] = true
		}
		ranks[rank] = append(ranks[rank], res)
	}
	return ranks
}

// shortened is the resources with texts of at most so many bytes.
func shortened(all []report.Resource, most int) []report.Resource {
	out := all
	for i := range all {
		res := &all[i]
		if len(res.Error) <= most && len(res.Found) <= most {
			continue
		}
		if &out[0] == &all[0] {
			out = slices.Clone(all)
		}
		out[i].Error, out[i].Found = cut(res.Error, most), cut(res.Found, most)
	}
	return out
}

// cut is text of at most so many bytes, which says that there was more.
func cut(text string, most int) string {
	const more = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}

// fit reports whether the resources are few enough, and short.
func fit(all []report.Resource) (bool, error) {
	if len(all) > report.ResourceLimit {
		return false, nil
	}
	room := report.Limits.Bytes - envelopeRoom
	upper := 0
	for i := range all {
		upper += most(&all[i])
	}
	if upper <= room {
		return true, nil
	}
	exact := 0
	for _, res := range all {
		size, err := sizeOf(res)
		if err != nil {
			return false, err
		}
		exact += size
	}
	return exact <= room, nil
}

// most is no less than sizeOf, and costs nothing.
func most(res *report.Resource) int {
	size := lineRoom + len(res.ID) + len(res.Digest)
	if res.Error != "" || res.Found != "" || res.Fixed || res.Contested != nil {
		size += rareRoom + 6*(len(res.Error)+len(res.Found))
	}
	return size
}

func sizeOf(res report.Resource) (int, error) {
	b, err := document.Canonical(res)
	if err != nil {
		return 0, fault.Add(err, "resource %q", res.ID)
	}
	return len(b) + 1, nil
}
