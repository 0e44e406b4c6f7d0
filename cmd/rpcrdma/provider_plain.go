//go:build !ibverbs

package main

import (
	"log/slog"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// withIBVerbs reports whether this build has the provider ibverbs.
const withIBVerbs = false

// openIBVerbs fails: this build is without the provider.
func openIBVerbs(string, *slog.Logger) (verbs.Device, error) { return nil, errWithoutIBVerbs }

// libraryDevices returns nil: this build cannot ask the library.
func libraryDevices() (*libraryView, *rdmadev.Problem) { return nil, nil }

// runCase is not called: this build is without the acceptance suite.
func runCase(provider, string, string) {}
