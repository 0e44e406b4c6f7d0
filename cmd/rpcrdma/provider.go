package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
)

// providers are the names that -provider takes.
var providers = []string{"rdmatcp", "iwarp", "mem", "ibverbs"}

// provider is the value of -provider: a name, and for ibverbs perhaps an equals sign and the name
// of a device.
type provider string

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *provider) UnmarshalText(b []byte) error {
	name, device, given := strings.Cut(string(b), "=")
	switch {
	case !slices.Contains(providers, name):
		return fmt.Errorf("found %q, expected one of rdmatcp, iwarp, mem, ibverbs, ibverbs=DEVICE", b)
	case given && name != "ibverbs":
		return fmt.Errorf("found %q: only ibverbs has devices", b)
	case given && device == "":
		return fmt.Errorf("found %q, expected the name of a device behind it: rpcrdma devices lists them", b)
	}
	*p = provider(b)
	return nil
}

// name returns the provider without its device.
func (p provider) name() string {
	name, _, _ := strings.Cut(string(p), "=")
	return name
}

// device returns the device, or "".
func (p provider) device() string {
	_, device, _ := strings.Cut(string(p), "=")
	return device
}

// errWithoutIBVerbs is the error of -provider ibverbs in a default build.
var errWithoutIBVerbs = errors.New("this rpcrdma has no provider ibverbs, which would link it to the system's C library: make build-ibverbs builds bin/rpcrdma with it")

// explainDevice makes a failure of a device's or connection's error, with the advice that the error
// has.
func explainDevice(stage string, err error) *failure {
	f := &failure{code: exitFailed, stage: stage, err: err}
	var p *rdmadev.Problem
	if errors.As(err, &p) {
		short := *p
		short.Try = ""
		f.err, f.help = errors.New(strings.Replace(err.Error(), p.Error(), short.Error(), 1)), p.Try
	}
	return f
}
