package connconf_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/connconf"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// onlySeven allows the user with UID 7 of AUTH_SYS.
func onlySeven(r *rpc.Request) error {
	sys, err := r.AuthSys()
	if err == nil && sys.UID != 7 {
		err = oncrpc.Refused(oncrpc.AuthStatTooWeak)
	}
	return err
}

// seven is the credential of that user.
func seven(t *testing.T) oncrpc.OpaqueAuth {
	t.Helper()
	cred, err := (&oncrpc.AuthSysParms{UID: 7}).Auth()
	if err != nil {
		t.Fatal(err)
	}
	return cred
}

// R299: Config.Allow decides which client may configure, before the arguments are believed. A
// refusal is AUTH_ERROR, an error at the client, and changes nothing at either end; the client may
// call again with another credential (R293 to R296).
func TestAllowDecidesByClient(t *testing.T) {
	p := newPair(t, &connconf.Config{Allow: onlySeven}, true)
	c := p.dial()
	client, server := c.Terms(), p.accepted().Terms()
	ok, err := connconf.Configure(context.Background(), c, nil)
	var re *oncrpc.ReplyError
	if ok || !errors.Is(err, oncrpc.ErrAuth) || !errors.As(err, &re) || re.Auth != oncrpc.AuthStatTooWeak {
		t.Error(ok, err)
	}
	if c.Terms() != client || p.accepted().Terms() != server {
		t.Errorf("%+v, %+v; were %+v, %+v", c.Terms(), p.accepted().Terms(), client, server)
	}
	if ok, err := connconf.Configure(context.Background(), c, &connconf.Config{Cred: seven(t)}); !ok || err != nil {
		t.Error(ok, err)
	}
	if got := p.accepted().Terms(); got.InlineRecv != 6144 || c.Terms().InlineSend != 4096 {
		t.Errorf("%+v, %+v", got, c.Terms())
	}
}

// Byte by byte: MSG_DENIED, AUTH_ERROR and the status, also for giant numbers (R300) and for
// arguments that cannot be decoded. Procedure 0 is always allowed (R293).
func TestPolicyReplies(t *testing.T) {
	const denied = "00000007" + "00000001" + "00000001" + "00000001"
	p := newPair(t, &connconf.Config{Allow: onlySeven}, true)
	c := p.dial()
	before := p.accepted().Terms()
	for _, tt := range []struct{ name, call, want string }{
		{"AUTH_NONE", call + "00000001 00000001 " + none + "00001000 00001000 00000004", denied + "00000005"},
		{"giants", call + "00000001 00000001 " + none + "ffffffff ffffffff ffffffff", denied + "00000005"},
		{"no arguments", call + "00000001 00000001 " + none, denied + "00000005"},
		{"a broken credential", call + "00000001 00000001 00000001 00000004 00000001 00000000 00000000 00001000 00001000 00000004", denied + "00000001"},
		{"NULL", call + "00000001 00000000 " + none, reply + "00000000"},
	} {
		if got := raw(t, c, tt.call); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if got := p.accepted().Terms(); got != before {
			t.Errorf("%s: %+v, was %+v", tt.name, got, before)
		}
	}
	// The default allows credentials that prove nothing, and refuses those that it cannot check.
	p = newPair(t, nil, true)
	if got := raw(t, p.dial(), call+"00000001 00000001 00000005 00000000 00000000 00000000 00001000 00001000 00000004"); got != denied+"00000005" {
		t.Errorf("flavour 5: %s", got)
	}
}

// A Client whose credential is refused fails, or goes on with 1024 bytes, as configured (R295,
// R298).
func TestRefusedClient(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		p := newPair(t, &connconf.Config{Allow: onlySeven}, true)
		c, err := rdmaio.NewClient(p.client, "here", &rdmaio.ClientConfig{
			Connected: connconf.Connected(&connconf.Config{IgnoreRefusal: ignore}), DialFailures: -1,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		b, _ := oncrpc.NewCall(9, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
		_, err = c.Call(context.Background(), &rdmaio.Call{Message: rdmaio.Message{Inline: b}})
		if !ignore {
			if !errors.Is(err, oncrpc.ErrAuth) || len(p.seen) != 0 {
				t.Errorf("%v, %d Calls served", err, len(p.seen))
			}
			continue
		}
		if err != nil || len(p.seen) != 1 || p.terms != (rdmaio.Terms{Version: 1, InlineSend: 1024, InlineRecv: 1024}) {
			t.Errorf("%v, %d Calls served with %+v", err, len(p.seen), p.terms)
		}
	}
}

// counted is a carrier over another one.
type counted struct {
	oncrpc.Carrier
	calls *int
}

func (c counted) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	*c.calls++
	return c.Carrier.Call(ctx, call)
}

// The call goes over Config.Carrier. If there is none, the connection stays as it is.
func TestCallGoesOverTheCarrier(t *testing.T) {
	p := newPair(t, nil, true)
	calls := 0
	cfg := &connconf.Config{Carrier: func(conn *rdmaio.Conn) (oncrpc.Carrier, error) { return counted{conn, &calls}, nil }}
	if ok, err := connconf.Configure(context.Background(), p.dial(), cfg); !ok || err != nil || calls != 1 {
		t.Errorf("%v, %v, %d calls", ok, err, calls)
	}
	broken := errors.New("no ticket")
	cfg.Carrier = func(*rdmaio.Conn) (oncrpc.Carrier, error) { return nil, broken }
	c := p.dial()
	before := c.Terms()
	if ok, err := connconf.Configure(context.Background(), c, cfg); ok || !errors.Is(err, broken) || c.Terms() != before {
		t.Errorf("%v, %v, %+v", ok, err, c.Terms())
	}
}

// R299: a policy sees the host of the client. Here it demands TLS and a certificate of host7.
func TestPolicyTLS(t *testing.T) {
	authority := tlstest.NewAuthority(t)
	open := func(name string, auth tls.ClientAuthType) *rdmatcp.Device {
		cfg := &rdmatcp.Config{}
		if name != "" {
			cfg.TLS = authority.Config()
			cfg.TLS.Certificates = []tls.Certificate{authority.Issue(func(c *x509.Certificate) { c.Subject.CommonName = name })}
			cfg.TLS.ClientAuth = auth
		}
		d, err := rdmatcp.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	}
	allow := func(r *rpc.Request) error {
		state := r.Peer().TLS
		if state == nil || !state.Verified {
			return oncrpc.Refused(oncrpc.AuthStatTooWeak)
		}
		cert, err := x509.ParseCertificate(state.PeerCertificates[0])
		if err != nil || cert.Subject.CommonName != "host7" {
			return oncrpc.Refused(oncrpc.AuthStatBadCred)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, tt := range []struct {
		client, server string
		want           oncrpc.AuthStat
	}{
		{"host7", "server", oncrpc.AuthStatOK},
		{"host8", "server", oncrpc.AuthStatBadCred},
		{"", "", oncrpc.AuthStatTooWeak}, // no TLS at all
	} {
		h := connconf.Handler(rpc.NewHandler(nil), &connconf.Config{Allow: allow})
		server, err := rdmaio.Listen(ctx, open(tt.server, tls.RequireAndVerifyClientCert), "127.0.0.1:0", h, &rdmaio.Config{InlineRecv: 6144})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		conn, err := rdmaio.Dial(ctx, open(tt.client, 0), server.Addr(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		before := conn.Terms()
		ok, err := connconf.Configure(ctx, conn, nil)
		if tt.want == oncrpc.AuthStatOK {
			if !ok || err != nil || conn.Terms().InlineSend > 6144 || conn.Terms().Reads != 16 {
				t.Errorf("%s: %v, %v, %+v", tt.client, ok, err, conn.Terms())
			}
			continue
		}
		var re *oncrpc.ReplyError
		if ok || !errors.As(err, &re) || re.Auth != tt.want || conn.Terms() != before || !strings.HasPrefix(err.Error(), "connconf: ") {
			t.Errorf("%q: %v, %v, %+v", tt.client, ok, err, conn.Terms())
		}
	}
}

// R299: a policy demands the integrity of RPCSEC_GSS and sees the user. The whole exchange, the
// context of RPCSEC_GSS included, fits the initial 1024 bytes (R295), and the context is deleted
// when it has served.
func TestPolicyGSS(t *testing.T) {
	realm := gsstest.NewRealm(2)
	var handler *gss.Handler
	p := newPairBehind(t, func(next rdmaio.Handler) rdmaio.Handler {
		handler = gss.NewHandler(connconf.Handler(next, &connconf.Config{Allow: func(r *rpc.Request) error {
			if err := gss.Require(r.Context(), gss.Integrity); err != nil {
				return err
			}
			if gss.FromContext(r.Context()).Principal != "host7" {
				return oncrpc.Refused(oncrpc.AuthStatBadCred)
			}
			return nil
		}}), realm.Acceptor(), nil)
		return handler
	})
	over := func(user string, service gss.Service) func(*rdmaio.Conn) (oncrpc.Carrier, error) {
		return func(conn *rdmaio.Conn) (oncrpc.Carrier, error) {
			return gss.NewCarrier(conn, realm.Initiator(user, "server"), &gss.CarrierConfig{Service: service})
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, tt := range []struct {
		name    string
		carrier func(*rdmaio.Conn) (oncrpc.Carrier, error)
		want    oncrpc.AuthStat
	}{
		{"AUTH_NONE", nil, oncrpc.AuthStatTooWeak},
		{"no protection", over("host7", gss.None), oncrpc.AuthStatTooWeak},
		{"another user", over("host8", gss.Integrity), oncrpc.AuthStatBadCred},
		{"integrity", over("host7", gss.Integrity), oncrpc.AuthStatOK},
		{"privacy", over("host7", gss.Privacy), oncrpc.AuthStatOK},
	} {
		c := p.dial()
		before := c.Terms()
		ok, err := connconf.Configure(ctx, c, &connconf.Config{Carrier: tt.carrier})
		var re *oncrpc.ReplyError
		switch {
		case tt.want == oncrpc.AuthStatOK:
			if !ok || err != nil || c.Terms().InlineSend != 4096 || c.Terms().Reads != 16 {
				t.Errorf("%s: %v, %v, %+v", tt.name, ok, err, c.Terms())
			}
		case ok || !errors.As(err, &re) || re.Auth != tt.want || c.Terms() != before:
			t.Errorf("%s: %v, %v, %+v", tt.name, ok, err, c.Terms())
		}
		if st := handler.Stats(); st.Contexts != 0 || realm.Live() != 0 {
			t.Errorf("%s: %d contexts at the server, %d in all", tt.name, st.Contexts, realm.Live())
		}
	}
	// A credential without a context is refused by the gss.Handler.
	if got := raw(t, p.dial(), call+"00000001 00000001 00000006 00000000 00000000 00000000 00001000 00001000 00000004"); !strings.HasPrefix(got, "00000007"+"00000001"+"00000001"+"00000001") {
		t.Errorf("an empty credential of RPCSEC_GSS: %s", got)
	}
}
