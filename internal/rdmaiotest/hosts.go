package rdmaiotest

import (
	"crypto/ed25519"
	"crypto/rand"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth/pubkey"
)

// Hosts has the keys of a client and a server.
type Hosts struct{ Client, Server ed25519.PrivateKey }

// NewHosts makes keys.
func NewHosts(t testing.TB) (h Hosts) {
	t.Helper()
	for _, key := range []*ed25519.PrivateKey{&h.Client, &h.Server} {
		var err error
		if _, *key, err = ed25519.GenerateKey(rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// Public returns the public key that belongs to a private one.
func Public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// ClientKey returns the client's configuration of package pubkey, with bare keys.
func (h Hosts) ClientKey() pubkey.Config {
	return pubkey.Config{Key: h.Client, Keys: map[string]ed25519.PublicKey{"nas1": Public(h.Server)}, ServerName: "nas1"}
}

// ServerKey returns the server's.
func (h Hosts) ServerKey() pubkey.Config {
	return pubkey.Config{Key: h.Server, Keys: map[string]ed25519.PublicKey{"host7": Public(h.Client)}}
}

// Method makes a Method, or none without a Key.
func Method(t testing.TB, cfg pubkey.Config) hostauth.Method {
	t.Helper()
	m, err := pubkey.New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// AuthConfig returns a Config of version 2 with host authentication.
func AuthConfig(mode rdmaio.HostAuthMode, m hostauth.Method) *rdmaio.Config {
	return &rdmaio.Config{Versions: []int{2, 1}, HostAuth: rdmaio.HostAuth{Mode: mode, Method: m}}
}
