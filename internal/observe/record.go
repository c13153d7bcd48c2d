package observe

import (
	"context"
	"errors"
	"strings"

	"noxmesh/declaration"
	"noxmesh/delivery/artifact"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/invariant"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
	"noxmesh/report"
)

// RecordAt opens the record at dsn and reads it. A record that has not been
// made yet, or that a killed controller has only begun, would be made by that:
// ask only where a controller has started once.
func RecordAt(ctx context.Context, dsn string) (r invariant.Record, err error) {
	d, err := db.Open(ctx, dsn)
	if err != nil {
		return invariant.Record{}, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return Record(ctx, d)
}

// Record is the record at one moment.
func Record(ctx context.Context, d *db.DB) (invariant.Record, error) {
	return new(Proofs).Record(ctx, d)
}

// Record is the function Record, with what has been verified before.
func (p *Proofs) Record(ctx context.Context, d *db.DB) (r invariant.Record, err error) {
	err = d.Read(ctx, func(tx *db.Tx) error {
		r = invariant.Record{Known: true}
		for _, read := range []func(*db.Tx, *invariant.Record) error{answers, builds, declared, ledger, p.nodes} {
			if err := read(tx, &r); err != nil {
				return err
			}
		}
		return nil
	})
	return r, err
}

func answers(tx *db.Tx, r *invariant.Record) (err error) {
	r.Answers, err = db.All(tx, func(row db.Row) (a invariant.Answer, err error) {
		err = row.Scan(&a.Request, &a.Builder, (*string)(&a.Build))
		return a, err
	}, `SELECT request, builder, build FROM answer ORDER BY request`)
	return err
}

func builds(tx *db.Tx, r *invariant.Record) error {
	modules, err := db.All(tx, db.Text, `SELECT DISTINCT module FROM build ORDER BY module`)
	if err != nil {
		return err
	}
	for _, m := range modules {
		made, err := deliverystore.MadeBuilds(tx, m)
		if err != nil {
			return err
		}
		for _, b := range made {
			is, err := buildOf(b)
			if err != nil {
				return err
			}
			r.Builds = append(r.Builds, is)
		}
	}
	return nil
}

func buildOf(b artifact.Build) (invariant.Build, error) {
	encoded, err := b.Manifest.BuildDigest()
	if err != nil {
		return invariant.Build{}, err
	}
	of := artifact.Of(b)
	made := []string{of.Tree, of.Platform}
	for _, in := range of.Inputs {
		made = append(made, in.Module, in.Artifact, string(in.Digest))
	}
	return invariant.Build{
		ID: b.ID, Encoded: encoded, Content: b.Content, Module: b.Module, Commit: b.Manifest.Built.Commit,
		Closure: strings.Join(append(made, b.Manifest.Built.Commit), " "), Request: b.Request,
		Published: b.Published, Fit: b.Verdict.Eligible(), Gone: b.Gone, Finding: b.Finding,
	}, nil
}

func declared(tx *db.Tx, r *invariant.Record) error {
	rows, err := deliverystore.Declared(tx)
	for _, d := range rows {
		r.Declared = append(r.Declared, invariant.Declared{Module: d.Module, Node: d.Node, Build: d.Build})
	}
	return err
}

func ledger(tx *db.Tx, r *invariant.Record) (err error) {
	r.Ledger, err = db.All(tx, func(row db.Row) (i invariant.Issued, err error) {
		err = row.Scan(&i.Node, &i.Tuple.Epoch, &i.Tuple.Generation, (*string)(&i.Tuple.Digest))
		return i, err
	}, `SELECT node, epoch, generation, digest FROM ledger ORDER BY node, generation`)
	return err
}

func (p *Proofs) nodes(tx *db.Tx, r *invariant.Record) error {
	all, err := inventorystore.Nodes(tx)
	if err != nil {
		return err
	}
	for _, n := range all {
		signed, err := p.signedReport(tx, n)
		if err != nil {
			return err
		}
		row := invariant.NodeRow{
			Node: n.ID, Sent: n.Sent.Tuple, Accepted: n.Accepted, Report: n.Report, ReportAt: n.ReportAt, Signed: signed, Finding: n.Finding,
		}
		if n.Refused != nil {
			row.Refused = declaration.Tuple{Epoch: n.Refused.Epoch, Generation: n.Refused.Generation, Digest: n.Refused.Digest}
		}
		r.Nodes = append(r.Nodes, row)
	}
	return nil
}

// signedReport reports whether the node's key has signed just the report that is
// recorded, but for the facts, which stay from an earlier one.
func (p *Proofs) signedReport(tx *db.Tx, n inventory.Node) (bool, error) {
	if n.Report == nil {
		return false, nil
	}
	text, found, err := db.One(tx, db.Text, `SELECT envelope FROM node_report WHERE node = $1`, n.ID)
	if err != nil || !found {
		return false, err
	}
	recorded := *n.Report
	recorded.Facts = nil
	is, err := document.Canonical(recorded)
	if err != nil {
		return false, err
	}
	return p.holds(func() bool {
		said, err := signedBy(n.Sign, text)
		return err == nil && said == document.Sum(is)
	}, text, string(n.Sign), string(is)), nil
}

// signedBy is the digest of the report, without its facts, that is signed in an
// envelope.
func signedBy(key link.PublicKey, text string) (document.Digest, error) {
	envelope, err := link.DecodeEnvelope([]byte(text))
	if err != nil {
		return "", err
	}
	payload, err := envelope.Open(link.TypeReport, key)
	if err != nil {
		return "", err
	}
	said, err := report.Decode(payload)
	if err != nil {
		return "", err
	}
	said.Facts = nil
	return document.CanonicalDigest(said)
}
