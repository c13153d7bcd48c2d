// Command mesh-builder takes build requests of a mesh and makes them, one at a time.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"noxmesh/builder"
)

// version is set when a release is built.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := builder.Main(ctx, os.Args[1:], version, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
