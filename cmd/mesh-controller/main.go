// Command mesh-controller is the control plane of a mesh.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"noxmesh/controller"
)

// version is set when the program is built.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := controller.Command(ctx, version, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
