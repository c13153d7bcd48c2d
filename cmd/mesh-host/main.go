// Command mesh-host makes a node what its declaration says, reads it back, and reports.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"noxmesh/host"
	"noxmesh/internal/term"
)

// version is set when a release is built.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := host.Main(ctx, os.Args[1:], version, term.Open("mesh-host", os.Stdout, os.Stderr, os.Getenv))
	stop()
	os.Exit(code)
}
