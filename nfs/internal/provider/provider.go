// Package provider opens the verbs providers that the commands of NFS offer by name.
package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// provider is a provider with its name in messages.
type provider struct {
	form string
	open func(device string) (verbs.Device, error)
}

// providers are those of this program. The build tag ibverbs adds one.
var providers = map[string]provider{
	"iwarp":   {"iwarp", func(string) (verbs.Device, error) { return iwarp.Open(nil) }},
	"rdmatcp": {"rdmatcp", func(string) (verbs.Device, error) { return rdmatcp.Open(nil) }},
}

// Forms returns the names that Check accepts, for messages.
func Forms() string {
	var forms []string
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		forms = append(forms, providers[name].form)
	}
	last := len(forms) - 1
	return strings.Join(forms[:last], ", ") + " or " + forms[last]
}

// Names returns the names without devices, sorted.
func Names() []string { return slices.Sorted(maps.Keys(providers)) }

// Check returns an error if Open does not know the provider.
func Check(name string) error {
	_, _, err := find(name)
	return err
}

// find returns the provider of a name, and the device behind the name.
func find(name string) (p provider, device string, err error) {
	kind, device, named := strings.Cut(name, "=")
	p, ok := providers[kind]
	if !ok && kind == "ibverbs" {
		return p, "", fmt.Errorf("found -provider %.64q, which would link this program to the system's C library: make build-ibverbs builds bin/nfs and bin/nfsserve with it", name)
	}
	if !ok || named && p.form == kind {
		return p, "", fmt.Errorf("found -provider %.64q, expected %s", name, Forms())
	}
	return p, device, nil
}

// Open opens a device of a provider. The caller must Close it.
func Open(name string) (verbs.Device, error) {
	p, device, err := find(name)
	if err != nil {
		return nil, err
	}
	return p.open(device)
}
