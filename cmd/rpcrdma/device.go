package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/certs"
)

// defaultPort is the port of NFS over RDMA (R316).
var defaultPort = strconv.Itoa(oncrpc.PortNFSRDMA)

// deviceFlags are the flags that ping, nfsping, perf and serve share.
type deviceFlags struct {
	rdmaFlags
	tlsFlags
	host string       // of the address to connect to
	log  *slog.Logger // of the certificates; nil: errors alone
}

// rdmaFlags are the flags for connections over RDMA, except the TLS flags.
type rdmaFlags struct {
	Provider provider `default:"${provider}"`
	Versions versions `default:"1"`
	Inline   size     `default:"0"` // 0: as the provider prefers
	Credits  int      `default:"32"`
	CRC      string   `name:"crc" default:"on" enum:"on,off"`
	Trace    string
	Pcap     string
	Limit    size `default:"1024m"`
}

// check refuses values that no connection can have. Its errors name the flags.
func (f *deviceFlags) check() error {
	if err := f.rdmaFlags.check(); err != nil {
		return err
	}
	return f.tlsFlags.check(f.Provider.name())
}

func (f *rdmaFlags) check() error {
	switch {
	case f.Inline != 0 && f.Inline < 1024 || f.Inline > 256<<10:
		return fmt.Errorf("-inline is %v, must be between 1024 and 256k (RFC 8797 §4.2)", f.Inline)
	case f.Credits < 1 || f.Credits > 4096:
		return fmt.Errorf("-credits is %d, must be between 1 and 4096", f.Credits)
	case f.Provider.name() == "ibverbs" && !withIBVerbs:
		return errWithoutIBVerbs
	case f.CRC == "off" && f.Provider != "iwarp":
		return fmt.Errorf("-crc off: the provider %s has no such choice, only iwarp has", f.Provider)
	}
	return nil
}

// config returns the configuration of a connection. It has NonBlocking because the handlers of
// newService never wait.
func (f *fabric) config() *rdmaio.Config {
	cfg := &rdmaio.Config{
		Versions: f.flags.Versions, Credits: f.flags.Credits,
		InlineSend: int(f.flags.Inline), InlineRecv: int(f.flags.Inline), MaxReadBytes: 1 << 27, NonBlocking: true,
	}
	if f.ladder != nil {
		cfg.Events = f.ladder.event
	}
	return cfg
}

// dialConfig returns the configuration of a connection that is dialed. A server has half of the
// time to answer an offer of version 2, so that the connection does not time out first.
func (f *fabric) dialConfig(wait time.Duration) *rdmaio.Config {
	cfg := f.config()
	cfg.OfferTimeout = max(wait/2, 1)
	return cfg
}

// fabric opens devices, and traces them as -trace and -pcap require.
type fabric struct {
	flags   *deviceFlags
	secure  *tls.Config  // nil without -tls
	certs   *certs.Files // of secure
	log     *slog.Logger // of the devices; nil: none
	net     *mem.Network
	tracer  *trace.Tracer
	ladder  *ladder // nil without -trace
	devices []verbs.Device
	files   []*file
	capture *trace.Capture
}

// newFabric opens the files of -trace and -pcap.
func newFabric(flags *deviceFlags, env environment) (*fabric, error) {
	files, err := flags.tlsFlags.open(flags.host, flags.log)
	if err != nil {
		return nil, err
	}
	f := &fabric{flags: flags, certs: files, net: mem.New(nil)}
	if files != nil {
		f.secure = files.TLS()
	}
	if flags.Trace == "" && flags.Pcap == "" {
		return f, nil
	}
	cfg := trace.Config{Sink: func(trace.Event) {}, Now: time.Now}
	if flags.Trace != "" {
		out, err := newFile(flags.Trace, flags.Limit, env)
		if err != nil {
			return nil, &failure{code: exitFailed, stage: "trace", err: err}
		}
		f.files = append(f.files, out)
		f.ladder = newLadder(out)
		cfg.Sink, cfg.Head = f.ladder.add, ladderHead
	}
	if flags.Pcap != "" {
		out, err := newFile(flags.Pcap, flags.Limit, env)
		if err != nil {
			return nil, errors.Join(&failure{code: exitFailed, stage: "pcap", err: err}, f.close())
		}
		f.files = append(f.files, out)
		f.capture = trace.NewCapture(out, 0)
		cfg.Capture = f.capture
	}
	f.tracer = trace.New(cfg)
	return f, nil
}

// open opens a device of the provider.
func (f *fabric) open(name string) (verbs.Device, error) {
	var dev verbs.Device
	var err error
	switch f.flags.Provider.name() {
	case "mem":
		dev, err = f.net.Open(name, nil)
	case "rdmatcp":
		dev, err = rdmatcp.Open(&rdmatcp.Config{Name: name, Logger: f.log, TLS: f.secure})
	case "iwarp":
		dev, err = iwarp.Open(&iwarp.Config{Name: name, Logger: f.log, TLS: f.secure, NoCRC: f.flags.CRC == "off"})
	case "ibverbs":
		dev, err = openIBVerbs(f.flags.Provider.device(), f.log)
	}
	if err != nil {
		return nil, explainDevice("device", err)
	}
	f.devices = append(f.devices, dev)
	if f.tracer != nil {
		dev = f.tracer.Device(dev)
	}
	return dev, nil
}

// close closes the devices and files. Everything on the devices must be closed before.
func (f *fabric) close() error {
	var errs []error
	for _, d := range f.devices {
		errs = append(errs, d.Close())
	}
	if f.capture != nil {
		errs = append(errs, f.capture.Err())
	}
	for _, out := range f.files {
		errs = append(errs, out.close())
	}
	return errors.Join(errs...)
}

// address returns the HOST:PORT to connect to, for a HOST[:PORT] of the command line. remedy says
// what to do if the provider has no addresses.
func (f *deviceFlags) address(s, remedy string) (string, error) {
	if f.Provider == "mem" {
		return "", errors.New("the provider mem connects within this process only: " + remedy)
	}
	host, port, err := splitAddress(s)
	switch {
	case err != nil:
	case host == "":
		err = fmt.Errorf("address %q: found no host, expected HOST or HOST:PORT", s)
	case port == 0:
		err = fmt.Errorf("address %q: port 0 is not a port to connect to", s)
	}
	f.host = host
	return joinAddress(host, port), err
}

// listenAddress returns the HOST:PORT to listen at, for a PORT or HOST[:PORT] of the command line.
func listenAddress(s string) (string, error) {
	if oncrpc.IsLocal(s) || strings.HasPrefix(s, activatedPrefix) {
		return s, nil
	}
	if _, err := strconv.ParseUint(s, 10, 64); err == nil { // no host has a number as its name
		s = ":" + s
	}
	host, port, err := splitAddress(s)
	return joinAddress(host, port), err
}

// splitAddress splits HOST[:PORT]. The default port is the port of NFS over RDMA.
func splitAddress(s string) (host string, port uint16, err error) {
	return splitHostPort(s, defaultPort)
}

// splitHostPort splits HOST[:PORT].
func splitHostPort(s, missing string) (host string, port uint16, err error) {
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		return "", 0, fmt.Errorf("address %q: found the scheme %q, expected HOST:PORT alone, such as %s", s, scheme, strings.TrimRight(rest, "/"))
	}
	host, text, err := net.SplitHostPort(s)
	if err != nil {
		host, text = s, missing
		if len(s) > 1 && s[0] == '[' && s[len(s)-1] == ']' {
			host = s[1 : len(s)-1]
		}
		var fault *net.AddrError
		if _, notIP := netip.ParseAddr(host); notIP != nil && strings.ContainsAny(host, ":[]") && errors.As(err, &fault) {
			return "", 0, fmt.Errorf("address %q: found %s, expected HOST:PORT, or [HOST]:PORT for IPv6", s, strings.TrimSuffix(fault.Err, " in address"))
		}
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("address %q: found port %q, expected a number up to 65535", s, text)
	}
	return host, uint16(n), nil
}

func joinAddress(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// dial connects a device with these flags to the first address of a host that does not refuse the
// connection, and returns that address. It tries IPv4 addresses first.
func dial(ctx context.Context, flags *deviceFlags, dev verbs.Device, addr string, cfg *rdmaio.Config) (*rdmaio.Conn, string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil { // an address of the provider mem
		conn, err := rdmaio.Dial(ctx, dev, addr, cfg)
		if err != nil {
			return nil, "", explainDial(flags, addr, err)
		}
		return conn, addr, nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, "", &failure{code: exitFailed, stage: "name of " + addr, err: err, help: "check the name, or use an IP address"}
	}
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	slices.SortStableFunc(ips, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	for i, ip := range ips {
		at := net.JoinHostPort(ip.String(), port)
		conn, err := rdmaio.Dial(ctx, dev, at, cfg)
		if err == nil {
			return conn, at, nil
		}
		if i == len(ips)-1 || !errors.Is(err, verbs.ErrConnectionRefused) {
			return nil, "", explainDial(flags, at, err)
		}
	}
	return nil, "", &failure{code: exitFailed, stage: "name of " + addr, err: errors.New("the name has no address")}
}

// size is a number of bytes in a flag: 128, 64k, 1m.
type size int

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *size) UnmarshalText(b []byte) error {
	text, unit := string(b), 1
	switch last := text[max(0, len(text)-1):]; last {
	case "k", "K":
		unit = 1 << 10
	case "m", "M":
		unit = 1 << 20
	}
	if unit > 1 {
		text = text[:len(text)-1]
	}
	n, err := strconv.ParseUint(text, 10, 31)
	switch {
	case err != nil:
		return fmt.Errorf("found %q, expected a number of bytes, such as 128, 64k or 1m", b)
	case n*uint64(unit) > 1<<30:
		return fmt.Errorf("found %q, expected at most 1024m", b)
	}
	*s = size(n * uint64(unit))
	return nil
}

// String returns the size with a unit, if it is a multiple of one.
func (s size) String() string {
	switch {
	case s != 0 && s%(1<<20) == 0:
		return strconv.Itoa(int(s>>20)) + "m"
	case s != 0 && s%(1<<10) == 0:
		return strconv.Itoa(int(s>>10)) + "k"
	}
	return strconv.Itoa(int(s))
}
