package pubkey

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// part returns a server hello without its proof, and the proof.
func part(t *testing.T, msg []byte) ([]byte, *proof) {
	t.Helper()
	_, part, p, err := decodeServerHello(msg)
	if err != nil {
		t.Fatal(err)
	}
	return part, &p
}

// adapt replaces the digests in a server hello. An attacker can compute them, but not the
// signature.
func adapt(t *testing.T, msg []byte, d digests) []byte {
	t.Helper()
	part, p := part(t, msg)
	return appendProof(bytes.Clone(part), &proof{d, p.signature})
}

// flip returns a function that changes a bit of message number n.
func flip(n, off int) func(int, []byte) []byte {
	return func(i int, msg []byte) []byte {
		if i == n {
			msg[off] ^= 1
		}
		return msg
	}
}

// fields changes one field of the transcript after the other. Its functions change the information
// of one end, or the hellos on the way.
var fields = []struct {
	name   string
	ends   func(p *pair)
	change func(n int, msg []byte) []byte
	part   string // the digest that differs
}{
	{"client nonce", nil, flip(0, 4), "hellos"},
	{"client nonce, last byte", nil, flip(0, 35), "hellos"},
	{"client identity", nil, otherKey(0), "hellos"},
	{"server nonce", nil, flip(1, 4), "hellos"},
	{"server nonce, last byte", nil, flip(1, 35), "hellos"},
	{"server identity", nil, otherKey(1), "hellos"},
	{"client properties", func(p *pair) { p.serverInfo.Received = []byte("client propertiez") }, nil, "properties"},
	{"server properties", func(p *pair) { p.clientInfo.Received = []byte("server propertiez") }, nil, "properties"},
	{"no server properties", func(p *pair) { p.clientInfo.Received = nil }, nil, "properties"},
	{"properties exchanged", func(p *pair) {
		p.clientInfo.Sent, p.clientInfo.Received = p.clientInfo.Received, p.clientInfo.Sent
	}, nil, "properties"},
	{"a byte of the client's properties moved to the server's", func(p *pair) {
		p.clientInfo.Sent, p.clientInfo.Received = []byte("ab"), []byte("c")
		p.serverInfo.Received, p.serverInfo.Sent = []byte("a"), []byte("bc")
	}, nil, "properties"},
	{"binding", func(p *pair) { p.serverInfo.Binding.Data = []byte("Binding") }, nil, "channel binding"},
	{"binding type", func(p *pair) { p.serverInfo.Binding.Type = "tls-unique" }, nil, "channel binding"},
	{"no binding at the server", func(p *pair) { p.serverInfo.Binding = hostauth.Binding{} }, nil, "channel binding"},
	{"no binding at the client", func(p *pair) { p.clientInfo.Binding = hostauth.Binding{} }, nil, "channel binding"},
	{"a byte of the binding's type moved to its data", func(p *pair) {
		p.clientInfo.Binding = hostauth.Binding{Type: "ab", Data: []byte("c")}
		p.serverInfo.Binding = hostauth.Binding{Type: "a", Data: []byte("bc")}
	}, nil, "channel binding"},
}

// otherKey replaces the identity in message number n by another one that both ends accept.
func otherKey(n int) func(int, []byte) []byte {
	return func(i int, msg []byte) []byte {
		if i == n {
			copy(msg[42:74], public(edKey(9)))
		}
		return msg
	}
}

// expected returns the text and the kind of the error for a difference in a part. If the attacker
// has adapted the digests, only the signature is wrong.
func expected(adapted bool, part string) (text string, kind error) {
	if adapted {
		return "has not proved that it holds the private key", hostauth.ErrSignature
	}
	return "the digest of the " + part + " differs", hostauth.ErrTranscript
}

// TestClientDetects: the client refuses the server if any field differs, and sends no proof.
func TestClientDetects(t *testing.T) {
	for _, tt := range fields {
		for _, adapted := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				p := newPair()
				if tt.ends != nil {
					tt.ends(p)
				}
				var sent []byte // client hello
				r := p.run(t, func(n int, msg []byte) []byte {
					if n == 0 {
						sent = bytes.Clone(msg)
					}
					if tt.change != nil {
						msg = tt.change(n, msg)
					}
					if n == 1 && adapted {
						got, _ := part(t, msg)
						msg = adapt(t, msg, newDigests(&p.clientInfo, sent, got))
					}
					return msg
				})
				text, kind := expected(adapted, tt.part)
				checkError(t, r.clientErr, kind, text)
				if r.clientDone || r.serverDone || r.serverErr != nil || len(r.messages) != 2 {
					t.Errorf("client done %v; server done %v, %v; %d messages", r.clientDone, r.serverDone, r.serverErr, len(r.messages))
				}
			})
		}
	}
}

// TestServerDetects: the server refuses the client if any field differs. This client does not check
// the server, and signs the data that it saw.
func TestServerDetects(t *testing.T) {
	for _, tt := range fields {
		for _, adapted := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				p := newPair()
				if tt.ends != nil {
					tt.ends(p)
				}
				change := func(n int, msg []byte) []byte {
					if tt.change == nil {
						return msg
					}
					return tt.change(n, bytes.Clone(msg))
				}
				server, err := end(t, &p.server, p.serverInfo)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := server.Begin(); err != nil {
					t.Fatal(err)
				}
				sent := appendHello(nil, clientHello, &hello{identity: identity{bareKey, [][]byte{public(edKey(1))}}})
				step, err := server.Receive(change(0, sent))
				if err != nil {
					t.Fatal(err)
				}
				got, _ := part(t, change(1, step.Message))
				d := newDigests(&p.clientInfo, sent, got)
				signature := ed25519.Sign(edKey(1), signed(hostauth.Client, &d))
				if adapted {
					_, of := part(t, step.Message)
					d = of.digests
				}
				_, err = server.Receive(appendProof(appendHeader(nil, clientProof), &proof{d, signature}))
				text, kind := expected(adapted, tt.part)
				checkError(t, err, kind, text)
				if _, ok := server.Peer(); ok {
					t.Error("the server accepted the client")
				}
			})
		}
	}
}

// TestEveryByte changes each byte of each message on the way. The end that receives a changed
// proof fails, and the client fails for every change of a hello.
func TestEveryByte(t *testing.T) {
	p := newPair()
	for n, msg := range p.run(t, nil).messages {
		for off := range msg {
			for _, bit := range []byte{1, 0x80} {
				r := p.run(t, func(i int, msg []byte) []byte {
					if i == n {
						msg[off] ^= bit
					}
					return msg
				})
				if r.serverDone || (r.clientErr == nil) == (r.serverErr == nil) || r.clientDone != (n == 2) {
					t.Fatalf("message %d, byte %d: client %v, done %v; server %v, done %v",
						n, off, r.clientErr, r.clientDone, r.serverErr, r.serverDone)
				}
			}
		}
	}
}

// TestReplayedExchangeIsRefused plays a recorded exchange to a new exchange of the same ends. In
// the second half the attacker replaces the digests.
func TestReplayedExchangeIsRefused(t *testing.T) {
	p := newPair()
	recorded := p.run(t, nil).messages
	for _, adapted := range []bool{false, true} {
		text, kind := expected(adapted, "hellos")
		sent := []byte(nil)
		r := p.run(t, func(n int, msg []byte) []byte { // to the client
			switch {
			case n == 0:
				sent = bytes.Clone(msg)
			case adapted:
				got, _ := part(t, recorded[1])
				return adapt(t, recorded[1], newDigests(&p.clientInfo, sent, got))
			default:
				return bytes.Clone(recorded[1])
			}
			return msg
		})
		checkError(t, r.clientErr, kind, text)

		server, err := end(t, &p.server, p.serverInfo)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.Begin(); err != nil {
			t.Fatal(err)
		}
		step, err := server.Receive(recorded[0])
		if err != nil {
			t.Fatal(err)
		}
		old, err := decodeClientProof(recorded[2])
		if err != nil {
			t.Fatal(err)
		}
		if adapted {
			_, of := part(t, step.Message)
			old.digests = of.digests
		}
		_, err = server.Receive(appendProof(appendHeader(nil, clientProof), &old))
		checkError(t, err, kind, text)
	}
}

// TestReflectedMessagesAreRefused returns the messages of an end to it. Both ends have the same
// key.
func TestReflectedMessagesAreRefused(t *testing.T) {
	p := newPair()
	both := map[string]ed25519.PublicKey{"server": public(edKey(1))}
	p.client.Keys, p.server.Keys, p.server.Key = both, both, edKey(1)
	r := p.run(t, nil)
	r.authentic(t, "server", "server") // one key has one name

	var sent []byte
	t.Run("client hello", func(t *testing.T) {
		r := p.run(t, func(n int, msg []byte) []byte {
			if n == 0 {
				sent = bytes.Clone(msg)
				return msg
			}
			return bytes.Clone(sent)
		})
		checkError(t, r.clientErr, hostauth.ErrReflected, "the client hello of this side came back")
	})
	t.Run("server hello", func(t *testing.T) {
		r := p.run(t, func(n int, msg []byte) []byte {
			if n == 1 {
				sent = bytes.Clone(msg)
			}
			if n == 2 {
				return bytes.Clone(sent)
			}
			return msg
		})
		checkError(t, r.serverErr, hostauth.ErrReflected, "the server hello of this side came back")
	})
	t.Run("nonce", func(t *testing.T) {
		r := p.run(t, func(n int, msg []byte) []byte {
			if n == 0 {
				sent = bytes.Clone(msg)
			} else {
				copy(msg[headerSize:], sent[headerSize:][:nonceSize])
			}
			return msg
		})
		checkError(t, r.clientErr, hostauth.ErrReflected, "the nonce of the server")
	})
	// The attacker has no key. It shows the server the server's own identity, and returns the
	// server's own signature of the same digests. Only the role in the signed text differs.
	t.Run("proof of the server", func(t *testing.T) {
		r := p.run(t, func(n int, msg []byte) []byte {
			if n == 1 {
				sent = bytes.Clone(msg)
			}
			if n == 2 {
				_, own := part(t, sent)
				return appendProof(appendHeader(nil, clientProof), own)
			}
			return msg
		})
		checkError(t, r.serverErr, hostauth.ErrSignature, "the client has not proved")
	})
	// The same towards the client, with a signature that a client made.
	t.Run("proof of a client", func(t *testing.T) {
		r := p.run(t, func(n int, msg []byte) []byte {
			if n == 1 {
				got, own := part(t, msg)
				signature := ed25519.Sign(edKey(1), signed(hostauth.Client, &own.digests))
				return appendProof(bytes.Clone(got), &proof{own.digests, signature})
			}
			return msg
		})
		checkError(t, r.clientErr, hostauth.ErrSignature, "the server has not proved")
	})
}

// TestStolenIdentity: an attacker without the private key shows the identity of an accepted host,
// and signs with its own key, which is accepted, too.
func TestStolenIdentity(t *testing.T) {
	p := newPair()
	m, err := New(&p.client)
	if err != nil {
		t.Fatal(err)
	}
	m.cfg.Key = signer{edKey(9), func(b []byte) ([]byte, error) { return b, nil }}
	c, err := hostauth.NewSession(m, p.clientInfo, hostauth.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := end(t, &p.server, p.serverInfo)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	step, err := c.Begin()
	for from, to := c, s; err == nil && step.Send; from, to = to, from {
		step, err = to.Receive(step.Message)
	}
	checkError(t, err, hostauth.ErrSignature, "the client has not proved")
}

// TestRelayBetweenConnectionsIsNoticed puts an attacker between two connections. It passes on every
// message unchanged.
func TestRelayBetweenConnectionsIsNoticed(t *testing.T) {
	relay := func(client, server hostauth.Binding) result {
		p := newPair()
		p.clientInfo.Binding, p.serverInfo.Binding = client, server
		return p.run(t, nil)
	}
	first := hostauth.Binding{Type: "tls-exporter", Data: []byte("channel between client and attacker")}
	second := hostauth.Binding{Type: "tls-exporter", Data: []byte("channel between attacker and server")}

	r := relay(first, second)
	checkError(t, r.clientErr, hostauth.ErrTranscript, "the digest of the channel binding differs")
	if r.clientDone || r.serverDone {
		t.Error("a relay between two channels was accepted")
	}

	// Without a channel binding the ends cannot detect the attacker. The package comment says so.
	r = relay(hostauth.Binding{}, hostauth.Binding{})
	r.authentic(t, "client", "server")
}
