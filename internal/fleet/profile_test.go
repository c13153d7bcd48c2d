package fleet

import (
	"os"
	"runtime"
	"runtime/pprof"
)

// profile writes where the controller spends its time and its memory.
func profile(path string) (stop func(), err error) {
	f, err := os.Create(path + ".cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
		heap, err := os.Create(path + ".heap")
		if err != nil {
			return
		}
		defer heap.Close()
		runtime.GC()
		_ = pprof.WriteHeapProfile(heap) // it is for whoever looks
	}, nil
}
