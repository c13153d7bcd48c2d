package resource

import (
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

const (
	eyes      = 2   // work side by side: the disk and a core are kept busy, and the machine is left to its work
	batchSize = 512 // things that are done before it is judged how it went
	fewThings = 32  // are not worth a second eye
)

// abreast does each of n things, several side by side where there are many.
func (e *Engine) abreast(n int, do func(i int, e *eye)) {
	var next atomic.Int64
	work := func(e *eye) {
		const stretch = 16
		for {
			to := int(next.Add(stretch))
			for i := to - stretch; i < min(to, n); i++ {
				do(i, e)
			}
			if to >= n {
				return
			}
		}
	}
	var group errgroup.Group
	if n > fewThings {
		for i := 1; i < min(eyes, runtime.GOMAXPROCS(0)); i++ {
			group.Go(func() error { work(&e.eyes[i]); return nil })
		}
	}
	work(&e.eyes[0])
	_ = group.Wait() // nobody returns one
}

// jobs is the same that is done to many things, each of an item of its own: first
// their places are found, in order, then it is done to all of them.
type jobs struct {
	*pass
	do     func(*sight, *eye)
	failed func(*sight)
	batch  []sight
}

// everything does it to the only thing of each of the items.
func (j *jobs) everything(items []*item) {
	for part := range slices.Chunk(items, batchSize) {
		for _, it := range part {
			if j.sys.Crowded() {
				j.finish()
			}
			w := it.works[0]
			pl, err := at(j.sys, w.want.Path)
			j.batch = append(j.batch, sight{it, w, pl, err})
		}
		j.finish()
	}
}

func (j *jobs) finish() {
	j.abreast(len(j.batch), func(i int, e *eye) {
		if s := &j.batch[i]; s.err == nil {
			j.do(s, e)
		}
	})
	for i := range j.batch {
		if s := &j.batch[i]; s.err != nil {
			j.failed(s)
		}
	}
	j.batch = j.batch[:0]
}
