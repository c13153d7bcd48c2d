package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	"noxmesh/api"
	"noxmesh/archive"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/link"
)

// answerCheck asks for a build to be made once more, by another builder where
// there is one, and compared. Nothing else is decided by what comes of it.
func (c *Controller) answerCheck(ctx context.Context, who api.Who, in api.BuildIn) (out api.CheckOut, err error) {
	err = c.write(ctx, func(tx *db.Tx) error {
		of, by, err := checkable(tx, in.Build)
		if err != nil {
			return err
		}
		names, err := identitystore.BuilderNames(tx)
		if err != nil {
			return err
		}
		out = api.CheckOut{Of: of.ID, Module: of.Module, Builder: cmp.Or(names[by], by)}
		before, err := deliverystore.Checks(tx, of.ID)
		if err != nil {
			return err
		}
		live := slices.IndexFunc(before, func(b deliverystore.CheckRow) bool {
			return b.State == string(deliverystore.Open) || b.State == string(deliverystore.Leased)
		})
		if live >= 0 {
			out.Request, out.Already = before[live].Request, true
			return nil
		}
		row, err := c.checkOf(of, before)
		if err != nil {
			return err
		}
		out.Request, row.Avoid = row.ID, by
		return deliverystore.AddCheck(tx, row)
	})
	if err != nil {
		return out, err
	}
	c.log.Info("build checked", "module", out.Module, "request", out.Of, "check", out.Request, "by", who.Name)
	c.work.ring()
	return out, nil
}

// checkOf is the request that makes another again, after the checks that were asked
// for before, newest first.
func (c *Controller) checkOf(of deliverystore.RequestRow, before []deliverystore.CheckRow) (row deliverystore.RequestRow, err error) {
	r := of.Request
	r.Check, r.Attempt, r.Limit, r.Registry = of.ID, 1, int64(c.cfg.Limit/time.Second), c.at.Registry
	if len(before) > 0 {
		r.Attempt = before[0].Number + 1
	}
	if r.ID, err = r.Identity(); err != nil {
		return row, err
	}
	row = deliverystore.RequestRow{Request: r, Commands: of.Commands, MadeAt: clock.Now()}
	row.Envelope, err = link.Seal(c.keys.declare, link.TypeBuildRequest, r)
	return row, err
}

// checkable is the request that somebody means, whose build can be checked, and
// which builder answered it.
func checkable(tx *db.Tx, word string) (r deliverystore.RequestRow, by string, err error) {
	id, err := deliverystore.FindRequest(tx, word)
	if err != nil {
		return r, "", err
	}
	if r, err = deliverystore.Request(tx, id); err != nil {
		return r, "", err
	}
	if r.Check != "" { // a check is checked by another of the same
		if r, err = deliverystore.Request(tx, r.Check); err != nil {
			return r, "", err
		}
	}
	a, err := deliverystore.OneAttempt(tx, r.ID)
	if err == nil && a.Outcome != build.OutcomeBuilt {
		err = fault.New(fault.Conflict, "check build %s of %q: it is %s, and nothing came of it", word, r.Module, a.State).With("mesh builds %s shows which were built", r.Module)
	}
	return r, a.Builder, err
}

// aloneFor is how long a builder may have said nothing and still be waited for to
// make a check. One that makes something says nothing else meanwhile.
const aloneFor = 5 * time.Minute

// alone reports whether there is no other builder for this platform.
func alone(tx *db.Tx, w link.Work, now time.Time) (bool, error) {
	all, err := identitystore.Builders(tx)
	for _, b := range all {
		if b.ID != w.Builder && b.Platform == w.Platform && now.Sub(b.LastSeen) < aloneFor {
			return false, err
		}
	}
	return true, err
}

// mostFiles is how many files are named of each archive.
const mostFiles = 100

// buildNames is every module. It notes of which there are checks whose files are to
// be compared: hardly ever of any, so that no module asks for itself each time.
func (c *Controller) buildNames(ctx context.Context) ([]string, error) {
	var unlike []string
	err := c.db.Read(ctx, func(tx *db.Tx) (err error) {
		unlike, err = deliverystore.WithoutFiles(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, module := range unlike {
		c.unlike.Store(module, true)
	}
	return c.moduleNames(ctx)
}

// compareFiles says of the checks of a module which files they did not make alike.
func (c *Controller) compareFiles(ctx context.Context, module string) error {
	var all []deliverystore.Uncompared
	err := c.db.Read(ctx, func(tx *db.Tx) (err error) {
		all, err = deliverystore.ToCompare(tx, module)
		return err
	})
	if err != nil {
		return err
	}
	for _, u := range all {
		for i := range u.Differences {
			if err := c.compareArchive(ctx, u, &u.Differences[i]); err != nil {
				return fault.Add(err, "compare the files of check %q of %q", u.Request, module)
			}
		}
		if err := c.write(ctx, func(tx *db.Tx) error { return deliverystore.SaveCompared(tx, u.Request, u.Differences) }); err != nil {
			return err
		}
		c.log.Warn("a build is not reproducible", "module", module, "check", u.Request, "artifacts", len(u.Differences))
	}
	return nil
}

// compareArchive fills in which files of two archives are not alike, or why
// nobody can say: what is no longer in the registry will not come back.
func (c *Controller) compareArchive(ctx context.Context, u deliverystore.Uncompared, d *build.Difference) error {
	was, is, has := u.HasFiles(*d)
	if !has {
		return nil
	}
	first, err := c.indexOf(ctx, u.Module, was)
	if err == nil {
		var second archive.Index
		if second, err = c.indexOf(ctx, u.Module, is); err == nil {
			d.Files, d.More = named(archive.Changes(first, second))
			return nil
		}
	}
	if kind := fault.KindOf(err); kind != fault.NotFound && kind != fault.Invalid {
		return err
	}
	d.Why = err.Error()
	return nil
}

func (c *Controller) indexOf(ctx context.Context, module string, p build.Packed) (archive.Index, error) {
	small, err := c.pull.PullBytes(ctx, oci.Blob{Repository: module, Digest: p.Index, Size: p.IndexSize})
	if err != nil {
		return archive.Index{}, err
	}
	return archive.DecompressIndex(small)
}

// named is the first of what is not alike, and how much more there is.
func named(changes []archive.Change) (files []build.FileDifference, more int) {
	for _, x := range changes[:min(len(changes), mostFiles)] {
		files = append(files, build.FileDifference{Path: x.Path, What: x.What})
	}
	return files, len(changes) - len(files)
}

// checksOf is what is known of a build by its checks.
func checksOf(tx *db.Tx, request string, names map[string]string) (out []api.CheckedOut, reproducible string, err error) {
	all, err := deliverystore.Checks(tx, request)
	reproducible = "never checked"
	for _, x := range all {
		one := api.CheckedOut{BuildOut: buildOut(x.Attempt, names), Differences: differencesOut(x.Differences)}
		if x.Compared || x.Made != "" {
			one.Made, one.Same = string(x.Made), x.Same
			if reproducible != "no" {
				reproducible = map[bool]string{true: "yes", false: "no"}[x.Same]
			}
		}
		out = append(out, one)
	}
	return out, reproducible, err
}

func differencesOut(all []build.Difference) (out []api.Difference) {
	for _, d := range all {
		one := api.Difference{Artifact: d.Artifact, Type: d.Type, Was: string(d.Was), Is: string(d.Is), More: d.More, Why: d.Why}
		for _, f := range d.Files {
			one.Files = append(one.Files, api.FileDifference(f))
		}
		out = append(out, one)
	}
	return out
}
