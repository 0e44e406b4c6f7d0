package cases

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// nfsTCP is the guest's port of NFS over TCP.
const nfsTCP = 2049

// offersTLS is the answer to a probe that offers TLS.
const offersTLS = `MSG_ACCEPTED, SUCCESS, AUTH_NONE "STARTTLS"`

// badCred is the answer to AUTH_TLS in the wrong place.
const badCred = "MSG_DENIED, AUTH_ERROR, AUTH_BADCRED"

// authProbe is a call with AUTH_TLS, and the answers that the rule allows. After the answer to the
// call, more continues on the connection, and returns the rest of the answer.
type authProbe struct {
	what, rule, expected string
	allowed              []string
	edit                 func(*oncrpc.CallBody)
	behind               []byte // sent with the call, after it
	more                 func(conn net.Conn) string
}

// record frames an RPC message for TCP (RFC 5531 §11).
func record(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, 1<<31|uint32(len(message))), message...)
}

// plainNull is a NULL of NFS version 3 in plaintext, as a record.
func plainNull(t *T) []byte {
	b, err := oncrpc.NewCall(aliveXID, nfs3.Program, nfs3.Version, nfs3.ProcNull, oncrpc.None()).AppendBinary(nil)
	t.Must(err)
	return record(b)
}

// tlsProbes sends each call on its own connection, and reports the answers.
func tlsProbes(t *T) {
	a := startTLSHD(t)
	client := func(protocols ...string) *tls.Config {
		return &tls.Config{RootCAs: a.pool, ServerName: guestName, NextProtos: protocols}
	}
	null := plainNull(t)
	const sect = "RFC 9289 §4.1"
	list := []authProbe{
		{
			what: "NULL with AUTH_TLS: the probe", rule: sect, expected: `MSG_ACCEPTED, a verifier AUTH_NONE "STARTTLS"`, allowed: []string{offersTLS},
		},
		{
			what: "GETATTR with AUTH_TLS", rule: sect, expected: badCred, allowed: []string{badCred},
			edit: func(c *oncrpc.CallBody) { c.Proc = nfs3.ProcGetAttr },
		},
		{
			what: "NULL with AUTH_TLS, a body of 4 bytes", rule: sect, expected: "the client must send none: no STARTTLS",
			allowed: []string{badCred, "MSG_ACCEPTED, GARBAGE_ARGS, AUTH_NONE", closed},
			edit:    func(c *oncrpc.CallBody) { c.Cred.Body = []byte("body") },
		},
		{
			what: "NULL with AUTH_TLS, the verifier AUTH_NONE with 4 bytes", rule: sect, expected: "the client must send none: no STARTTLS",
			allowed: []string{"MSG_DENIED, AUTH_ERROR, AUTH_BADVERF"},
			edit:    func(c *oncrpc.CallBody) { c.Verf.Body = []byte("body") },
		},
		{
			what: "NULL with AUTH_TLS, the verifier AUTH_SYS", rule: sect, expected: "the client must send AUTH_NONE: no STARTTLS",
			allowed: []string{"MSG_DENIED, AUTH_ERROR, AUTH_BADVERF"},
			edit:    func(c *oncrpc.CallBody) { c.Verf.Flavor = oncrpc.AuthSys },
		},
		{
			what: "probe of program 100003 version 9", rule: sect, expected: "PROG_MISMATCH, with STARTTLS or without",
			allowed: []string{`MSG_ACCEPTED, PROG_MISMATCH, AUTH_NONE "STARTTLS"`, "MSG_ACCEPTED, PROG_MISMATCH, AUTH_NONE"},
			edit:    func(c *oncrpc.CallBody) { c.Vers = 9 },
		},
		{
			what: "probe of program 100000 at the port of NFS", rule: sect, expected: "PROG_UNAVAIL, with STARTTLS or without",
			allowed: []string{`MSG_ACCEPTED, PROG_UNAVAIL, AUTH_NONE "STARTTLS"`, "MSG_ACCEPTED, PROG_UNAVAIL, AUTH_NONE"},
			edit:    func(c *oncrpc.CallBody) { c.Prog, c.Vers = 100000, 2 },
		},
		{
			what: "the probe and a NULL in plaintext, sent at once", rule: "RFC 9289 §5.1.1", expected: "the NULL discarded without an answer; the connection should be dropped",
			allowed: []string{offersTLS + "; " + closed, closed},
			behind:  null, more: func(conn net.Conn) string { return t.readAnswer(conn) },
		},
		{
			what: "a NULL in plaintext after the answer to the probe", rule: "RFC 9289 §5.1.1", expected: "the NULL discarded without an answer; the connection should be dropped",
			allowed: []string{offersTLS + "; " + closed},
			more: func(conn net.Conn) string {
				_, err := conn.Write(null)
				t.Must(err)
				return t.readAnswer(conn)
			},
		},
		{
			what: "a TLS handshake up to version 1.2 after the probe", rule: "RFC 9289 §5", expected: "refused",
			allowed: []string{offersTLS + "; alert protocol_version", offersTLS + "; " + closed},
			more: func(conn net.Conn) string {
				cfg := client()
				cfg.MaxVersion = tls.VersionTLS12
				_, saw := handshake(t.Context(), conn, cfg)
				return saw
			},
		},
		{
			what: "a TLS 1.3 handshake with the application protocol sunrpc", rule: "RFC 9289 §5", expected: "TLS 1.3, sunrpc",
			allowed: []string{offersTLS + "; TLS 1.3, sunrpc"},
			more: func(conn net.Conn) string {
				_, saw := handshake(t.Context(), conn, client("sunrpc"))
				return saw
			},
		},
		{
			what: "a TLS 1.3 handshake with the application protocol http/1.1", rule: "RFC 9289 §5", expected: "refused",
			allowed: []string{offersTLS + "; alert no_application_protocol", offersTLS + "; " + closed},
			more: func(conn net.Conn) string {
				_, saw := handshake(t.Context(), conn, client("http/1.1"))
				return saw
			},
		},
		{
			what: "the probe again, in the TLS session", rule: sect, expected: badCred,
			allowed: []string{offersTLS + "; TLS 1.3; " + badCred},
			more: func(conn net.Conn) string {
				session, saw := handshake(t.Context(), conn, client())
				if session == nil {
					return saw
				}
				_, err := session.Write(record(probeCall(t, nil)))
				t.Must(err)
				return saw + "; " + t.readAnswer(session)
			},
		},
	}
	deviations := 0
	for _, p := range list {
		saw := p.run(t)
		deviation := !slices.Contains(p.allowed, saw)
		if deviation {
			deviations++
		}
		t.Report(Finding{What: p.what, Rule: p.rule, Expected: p.expected, Saw: saw, Deviation: deviation})
	}
	t.Say("%d probes, %d deviations", len(list), deviations)
}

// run sends the call on a new connection, and returns the answer.
func (p authProbe) run(t *T) string {
	conn := t.Dial(nfsTCP)
	defer conn.Close()
	_, err := conn.Write(append(record(probeCall(t, p.edit)), p.behind...))
	t.Must(err)
	saw := t.readAnswer(conn)
	if p.more != nil && saw != closed {
		saw += "; " + p.more(conn)
	}
	return saw
}

// probeCall returns the call of the probe, changed by edit if that is not nil.
func probeCall(t *T, edit func(*oncrpc.CallBody)) []byte {
	call := oncrpc.NewCall(probeXID, nfs3.Program, nfs3.Version, nfs3.ProcNull, oncrpc.OpaqueAuth{Flavor: oncrpc.AuthTLS})
	if edit != nil {
		edit(&call.Body.Call)
	}
	b, err := call.AppendBinary(nil)
	t.Must(err)
	return b
}

// readAnswer reads a reply, and returns its status and verifier, or closed.
func (t *T) readAnswer(conn net.Conn) string {
	var mark [4]byte
	if _, err := io.ReadFull(conn, mark[:]); err != nil {
		if t.ctx.Err() != nil {
			t.Fatalf("neither an answer nor the end of the connection: %v", err)
		}
		return closed
	}
	n := binary.BigEndian.Uint32(mark[:]) &^ (1 << 31)
	if n > 1<<10 {
		return fmt.Sprintf("bytes that are no RPC record: %x", mark)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(conn, b); err != nil {
		return closed
	}
	var m oncrpc.Header
	if err := m.DecodeXDR(xdr.NewDecoder(b, nil)); err != nil {
		return fmt.Sprintf("a record that is no reply: %v", err)
	}
	reply := &m.Body.Reply
	switch {
	case reply.Stat == oncrpc.Accepted:
		saw := fmt.Sprintf("%v, %v, %v", reply.Stat, reply.Accepted.Data.Stat, reply.Accepted.Verf.Flavor)
		if len(reply.Accepted.Verf.Body) > 0 {
			saw += fmt.Sprintf(" %q", reply.Accepted.Verf.Body)
		}
		return saw
	case reply.Rejected.Stat == oncrpc.AuthError:
		return fmt.Sprintf("%v, %v, %v", reply.Stat, reply.Rejected.Stat, reply.Rejected.AuthStat)
	}
	return fmt.Sprintf("%v, %v", reply.Stat, reply.Rejected.Stat)
}

// handshake returns a TLS session, its version and application protocol. If the peer refuses it,
// the session is nil, and the string says how.
func handshake(ctx context.Context, conn net.Conn, cfg *tls.Config) (*tls.Conn, string) {
	c := tls.Client(conn, cfg)
	err := c.HandshakeContext(ctx)
	var alert tls.AlertError
	switch {
	case errors.As(err, &alert):
		return nil, "alert " + strings.ReplaceAll(strings.TrimPrefix(alert.Error(), "tls: "), " ", "_")
	case errors.Is(err, io.EOF):
		return nil, closed
	case err != nil:
		return nil, err.Error()
	}
	state := c.ConnectionState()
	saw := tls.VersionName(state.Version)
	switch {
	case state.NegotiatedProtocol != "":
		saw += ", " + state.NegotiatedProtocol
	case len(cfg.NextProtos) > 0:
		saw += ", no application protocol"
	}
	return c, saw
}
