package carriers_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/carriers"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

var errNoCard = errors.New("no card in this machine")

// noCard opens no device.
func noCard(context.Context, netip.Addr) (verbs.Device, error) { return nil, errNoCard }

// software opens devices without hardware, with TLS if secure is not nil. They must be closed when
// the clients and servers of the test are.
func software(t *testing.T, secure *tls.Config) func(context.Context, netip.Addr) (verbs.Device, error) {
	return func(context.Context, netip.Addr) (verbs.Device, error) {
		dev, err := rdmatcp.Open(&rdmatcp.Config{TLS: secure})
		must(t, err)
		t.Cleanup(func() {
			if _, err := dev.AllocPD(); !errors.Is(err, verbs.ErrClosed) {
				t.Errorf("a device is open after the test: %v", err)
			}
		})
		return dev, nil
	}
}

const here = "127.0.0.1:0"

// listens starts servers by a choice, and returns the addresses by carrier.
func listens(t *testing.T, choice *carriers.Choice) (s *carriers.Servers, at map[string]string) {
	t.Helper()
	s, err := carriers.Listen(t.Context(), here, squares(nil), choice)
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	at = map[string]string{"rdma": unused(t), "tcp": unused(t)}
	for _, served := range s.List() {
		at[served.Carrier] = served.Addr
	}
	return s, at
}

// unused returns an address that refuses connections.
func unused(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", here)
	must(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

// dials makes a Client by a choice, and calls it.
func dials(t *testing.T, at map[string]string, choice carriers.Choice) (*carriers.Client, error) {
	t.Helper()
	choice.RDMAAddr, choice.TCPAddr = at["rdma"], at["tcp"]
	if choice.Client.Patience == 0 {
		choice.Client.Patience = leak.Patience() // the process may be stopped for a second
	}
	c, err := carriers.Dial(soon(t), at["tcp"], &choice)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, square(t, c)
}

// used returns the carriers that had Calls.
func used(c *carriers.Client) string {
	var names []string
	for _, a := range c.Stats().Addresses {
		if name, _, _ := strings.Cut(a.Name, " "); a.Calls > 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// RDMA is used where there is a device, and TCP where there is no device or the server does not
// answer over RDMA. The Client says what it uses, and why.
func TestDialChooses(t *testing.T) {
	_, both := listens(t, &carriers.Choice{Open: software(t, nil)})
	server, withoutRDMA := listens(t, &carriers.Choice{Open: noCard})
	if skipped := server.Skipped(); len(skipped) != 1 || !errors.Is(skipped[0], carriers.ErrNoDevice) || !errors.Is(skipped[0], errNoCard) || len(server.List()) != 1 {
		t.Errorf("found %v, expected that RDMA is left out", skipped)
	}
	_, withoutTCP := listens(t, &carriers.Choice{Open: software(t, nil), Prefer: carriers.RDMAOnly})
	for name, tt := range map[string]struct {
		at     map[string]string
		choice carriers.Choice
		want   string
		says   string
	}{
		"both":                 {both, carriers.Choice{Open: software(t, nil)}, "rdma", "rdma RDMA is up; tcp TCP has not answered yet"},
		"no device":            {both, carriers.Choice{Open: noCard}, "tcp", "rdma RDMA is down: carriers: no RDMA device: no card in this machine; tcp TCP is up"},
		"the provider's tag":   {both, carriers.Choice{}, "tcp", "tcp TCP is up"},
		"refused over RDMA":    {withoutRDMA, carriers.Choice{Open: software(t, nil)}, "tcp", "connection refused; tcp TCP is up"},
		"TCP preferred":        {both, carriers.Choice{Open: software(t, nil), Prefer: carriers.TCPThenRDMA}, "tcp", "tcp TCP is up; rdma RDMA has not answered yet"},
		"TCP preferred, RDMA":  {withoutTCP, carriers.Choice{Open: software(t, nil), Prefer: carriers.TCPThenRDMA}, "rdma", "; rdma RDMA is up"},
		"RDMA only":            {both, carriers.Choice{Open: software(t, nil), Prefer: carriers.RDMAOnly}, "rdma", "rdma RDMA is up"},
		"TCP only":             {both, carriers.Choice{Open: software(t, nil), Prefer: carriers.TCPOnly}, "tcp", "tcp TCP is up"},
		"RDMA only, no device": {both, carriers.Choice{Open: noCard, Prefer: carriers.RDMAOnly}, "", "carriers: no address is up: rdma RDMA: carriers: no RDMA device: no card in this machine"},
		"neither":              {withoutTCP, carriers.Choice{Open: noCard}, "", "no card in this machine; tcp TCP: dial tcp TCP: connect: connection refused"},
		"RDMA only, no server": {withoutRDMA, carriers.Choice{Open: software(t, nil), Prefer: carriers.RDMAOnly}, "", "connection refused"},
	} {
		c, err := dials(t, tt.at, tt.choice)
		text := ""
		if err == nil {
			text = c.String()
		} else {
			text = err.Error()
		}
		text = strings.NewReplacer(tt.at["rdma"], "RDMA", tt.at["tcp"], "TCP").Replace(text)
		if (tt.want == "") != (err != nil) || !strings.Contains(text, tt.says) || err == nil && used(c) != tt.want {
			t.Errorf("%s: %s, expected %q and %q", name, text, tt.want, tt.says)
		}
	}
}

// RDMA that answers nothing takes its share of the time to connect, and the Client then uses TCP.
func TestSilentRDMALeavesTimeForTCP(t *testing.T) {
	ln, err := net.Listen("tcp", here) // nothing accepts
	must(t, err)
	defer ln.Close()
	_, at := listens(t, &carriers.Choice{Prefer: carriers.TCPOnly})
	at["rdma"] = ln.Addr().String()
	c, err := dials(t, at, carriers.Choice{Open: software(t, nil), Client: carriers.ClientConfig{Patience: 20 * time.Millisecond}})
	if err != nil || used(c) != "tcp" {
		t.Errorf("%v: %v", c, err)
	}
}

// When a server over RDMA comes later, and when the device was removed and there is another one,
// the Client returns to RDMA.
func TestClientReturnsToRDMA(t *testing.T) {
	var mu sync.Mutex
	var devices []*rdmatcp.Device
	open := func(_ context.Context, local netip.Addr) (verbs.Device, error) {
		mu.Lock()
		defer mu.Unlock()
		if !local.IsLoopback() {
			t.Errorf("opened for %v, expected the address from which the server is reached", local)
		}
		if devices == nil {
			devices = []*rdmatcp.Device{nil}
			return nil, errNoCard
		}
		dev, err := rdmatcp.Open(nil)
		devices = append(devices, dev)
		return dev, err
	}
	_, at := listens(t, &carriers.Choice{Open: software(t, nil)})
	c, err := dials(t, at, carriers.Choice{Open: open, Client: carriers.ClientConfig{MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond}})
	must(t, err)
	returns := func() {
		t.Helper()
		for end := soon(t); !c.Stats().Addresses[0].Up; time.Sleep(time.Millisecond) {
			if end.Err() != nil {
				t.Fatal(c)
			}
		}
		before := c.Stats().Addresses[0].Calls
		must(t, square(t, c))
		if c.Stats().Addresses[0].Calls != before+1 {
			t.Errorf("%+v: expected that RDMA has the Call", c.Stats())
		}
	}
	returns()
	mu.Lock()
	first := devices[1]
	mu.Unlock()
	first.Remove()
	must(t, square(t, c)) // over TCP, or the next device
	returns()
	mu.Lock()
	defer mu.Unlock()
	if len(devices) != 3 {
		t.Errorf("%d devices were opened, expected 2", len(devices)-1)
	}
}

// There is no way from TLS to plaintext: not from RDMA to TCP, nor from TCP to RDMA.
func TestTLSNeverBecomesPlaintext(t *testing.T) {
	secure := tlstest.NewAuthority(t).Config()
	wants := func(mode tcp.TLSMode) *tcp.ClientConfig {
		return &tcp.ClientConfig{Conn: &tcp.Config{TLS: tcp.TLS{Mode: mode, Config: secure}}}
	}
	_, plain := listens(t, &carriers.Choice{Open: software(t, nil)})
	_, encrypted := listens(t, &carriers.Choice{Open: software(t, secure), TCP: wants(tcp.TLSRequired)})
	for name, tt := range map[string]struct {
		at     map[string]string
		choice carriers.Choice
		want   string // the carrier, or a part of the error
	}{
		"both with TLS":             {encrypted, carriers.Choice{Open: software(t, secure), TCP: wants(tcp.TLSRequired)}, "rdma"},
		"server without TLS":        {plain, carriers.Choice{Open: software(t, secure), TCP: wants(tcp.TLSRequired)}, "no address is up"},
		"RDMA without TLS":          {encrypted, carriers.Choice{Open: software(t, nil), TCP: wants(tcp.TLSRequired)}, "tcp"},
		"RDMA without TLS, trusted": {map[string]string{"rdma": plain["rdma"], "tcp": encrypted["tcp"]}, carriers.Choice{Open: software(t, nil), TCP: wants(tcp.TLSRequired), PlainRDMA: true}, "rdma"},
		"TCP without TLS":           {plain, carriers.Choice{Open: software(t, secure)}, "set Mode TLSRequired in Choice.TCP"},
		"TCP wants TLS":             {plain, carriers.Choice{Open: software(t, secure), TCP: wants(tcp.TLSWanted)}, "set Mode TLSRequired in Choice.TCP"},
		"RDMA only":                 {encrypted, carriers.Choice{Open: software(t, secure), Prefer: carriers.RDMAOnly}, "rdma"},
	} {
		c, err := dials(t, tt.at, tt.choice)
		if err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && used(c) != tt.want {
			t.Errorf("%s: %v, %v, expected %s", name, c, err, tt.want)
		}
	}
	// At the server.
	if _, err := carriers.Listen(t.Context(), here, squares(nil), &carriers.Choice{Open: software(t, secure)}); !errors.Is(err, carriers.ErrMixedTLS) {
		t.Errorf("found %v, expected %v", err, carriers.ErrMixedTLS)
	}
	s, _ := listens(t, &carriers.Choice{Open: software(t, nil), TCP: wants(tcp.TLSRequired)})
	if skipped := s.Skipped(); len(skipped) != 1 || !strings.Contains(skipped[0].Error(), "set Choice.PlainRDMA") {
		t.Errorf("found %v, expected that RDMA is left out", skipped)
	}
}

// Wrong choices are refused with the place, at both ends, and devices are closed.
func TestWrongChoicesAreRefused(t *testing.T) {
	network := mem.New(nil)
	opened := 0
	other := func(context.Context, netip.Addr) (verbs.Device, error) {
		opened++
		dev, err := network.Open("m", nil)
		t.Cleanup(func() { must(t, dev.Close()) }) // it may be closed again
		return dev, err
	}
	for want, choice := range map[string]*carriers.Choice{
		"Choice.Prefer is 9":           {Prefer: 9},
		`found address "nowhere"`:      {RDMAAddr: "nowhere"},
		`found address "127.0.0.1:"`:   {TCPAddr: "127.0.0.1:"},
		"Choice.Open returned none":    {Prefer: carriers.RDMAOnly, Open: func(context.Context, netip.Addr) (verbs.Device, error) { return nil, nil }},
		"less than MinBackoff":         {Open: other, Prefer: carriers.RDMAOnly, RDMA: &rdmaio.ClientConfig{MinBackoff: 2, MaxBackoff: 1}},
		"ClientConfig.MaxBackoff is 1": {Open: noCard, TCP: &tcp.ClientConfig{MinBackoff: 2, MaxBackoff: 1}},
		"MaxBackoff is 1ns, less":      {Client: carriers.ClientConfig{MinBackoff: 2, MaxBackoff: 1}},
	} {
		ctx, cancel := context.WithTimeout(soon(t), 5*time.Second)
		c, err := carriers.Dial(ctx, here, choice)
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dial: found %v, %v, expected %q", c, err, want)
		}
	}
	for want, choice := range map[string]*carriers.Choice{
		"Choice.Prefer is 9":        {Prefer: 9},
		"Choice.Open returned none": {Prefer: carriers.RDMAOnly, Open: func(context.Context, netip.Addr) (verbs.Device, error) { return nil, nil }},
		"InlineSend":                {Open: other, RDMA: &rdmaio.ClientConfig{Conn: &rdmaio.Config{InlineSend: 7}}},
	} {
		if _, err := carriers.Listen(t.Context(), here, squares(nil), choice); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("listen: found %v, expected %q", err, want)
		}
	}
	if opened == 0 {
		t.Error("no device was opened")
	}
	if _, err := carriers.Listen(t.Context(), here, squares(nil), &carriers.Choice{Open: noCard, Prefer: carriers.RDMAOnly}); !errors.Is(err, carriers.ErrNoDevice) {
		t.Errorf("found %v, expected %v", err, carriers.ErrNoDevice)
	}
	if err := carriers.Serve(t.Context(), nil, carriers.Either("x", nil)...); err == nil {
		t.Error("a server without a handler")
	}
	var _ oncrpc.Submitter = (*carriers.Client)(nil)
}
