package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// remoteFlags say how to reach a server.
type remoteFlags struct {
	Carrier  string `default:"tcp" enum:"tcp,rdma"`
	TLS      string `name:"tls" default:"off" enum:"off,wanted,required"`
	Cert     string `name:"cert"`
	Key      string `name:"key"`
	CA       string `name:"ca"`
	TLSName  string `name:"tls-name"`
	Insecure bool   `name:"insecure"`
	NoALPN   bool   `name:"no-alpn"`
	MaxReply size   `name:"max-reply" default:"16m"`
	rdmaFlags
}

// tlsFlags returns the flags of TLS as other commands have them.
func (f *remoteFlags) tlsFlags() *tlsFlags {
	return &tlsFlags{TLS: f.TLS != "off", Cert: f.Cert, Key: f.Key, CA: f.CA, TLSName: f.TLSName, Insecure: f.Insecure}
}

// check refuses values that no connection can have. Its errors name the flags.
func (f *remoteFlags) check() error {
	switch {
	case f.MaxReply < 1024:
		return errors.New("-max-reply is " + f.MaxReply.String() + ", must be 1024 or more")
	case f.NoALPN && (f.TLS == "off" || f.Carrier == "rdma"):
		return errors.New("-no-alpn has no effect without -tls, and over RDMA")
	case f.Carrier == "tcp" && f.Trace != "":
		return errors.New("-trace shows RDMA: it has no effect without -carrier rdma")
	case f.Carrier == "tcp" && f.Pcap != "" && f.TLS != "off":
		return errors.New("-pcap writes what the connection carries, which -tls encrypts: leave one of them out, or use -carrier rdma")
	case f.Carrier == "tcp":
		return f.tlsFlags().check("")
	case f.TLS == "wanted":
		return errors.New("-tls wanted: a connection over RDMA cannot fall back; use required or off")
	}
	device := deviceFlags{rdmaFlags: f.rdmaFlags, tlsFlags: *f.tlsFlags()}
	return device.check()
}

// checkLocal refuses flags that have no effect at a local socket.
func (f *remoteFlags) checkLocal(host string) error {
	switch {
	case !oncrpc.IsLocal(host):
		return nil
	case f.Carrier != "tcp":
		return fmt.Errorf("found the socket %s, expected HOST[:PORT] with -carrier rdma", host)
	case f.Pcap != "":
		return fmt.Errorf("-pcap writes packets of TCP: %s does not use it", host)
	case f.TLS != "off" && f.TLSName == "" && !f.Insecure:
		return fmt.Errorf("-tls at %s needs -tls-name, because a socket has no host name", host)
	}
	return nil
}

// tlsModes are the values of -tls.
var tlsModes = map[string]tcp.TLSMode{"off": tcp.TLSOff, "wanted": tcp.TLSWanted, "required": tcp.TLSRequired}

// remote is a connection to a server.
type remote struct {
	oncrpc.Conn
	addr  string
	close func() error
}

// connect connects to a host. If port is 0, it asks the host's rpcbind. NFS over RDMA has a fixed
// port, so rpcbind is not asked for it (RFC 8166 §5; R316). The error is a *failure.
func (f *remoteFlags) connect(ctx context.Context, env environment, host string, port uint16, p oncrpc.Program, wait time.Duration) (*remote, error) {
	addr := joinAddress(host, port)
	switch {
	case oncrpc.IsLocal(host):
		addr, host = host, "" // no certificate has a path as its name
	case port != 0:
	case f.Carrier == "rdma" && p.Number == nfsProgram:
		addr = joinAddress(host, oncrpc.PortNFSRDMA)
	default:
		at, err := rpcbind.Resolve(ctx, host, p.Number, p.Version, f.Carrier, nil)
		if err != nil {
			return nil, explainLookup(joinAddress(host, rpcbind.Port), adviceNoLookup, err)
		}
		addr = at.String()
	}
	if f.Carrier == "rdma" {
		return f.overRDMA(ctx, env, host, addr, wait)
	}
	cfg := &tcp.Config{MaxRecord: int(f.MaxReply), TLS: tcp.TLS{Mode: tlsModes[f.TLS], WithoutALPN: f.NoALPN, Program: p.Number, Version: p.Version}}
	var err error
	if cfg.TLS.Config, err = f.tlsFlags().config(host); err != nil {
		return nil, err
	}
	if f.Pcap != "" {
		return f.recorded(ctx, env, addr, cfg)
	}
	conn, err := tcp.Dial(ctx, addr, cfg)
	if err != nil {
		return nil, explainTCP("connection", addr, err)
	}
	if f.TLS == "wanted" && conn.Peer().TLS == nil { // an attacker on the path can cause it
		fmt.Fprintf(env.stderr, "rpcrdma: %s offers no TLS: the calls are in plaintext\n", addr)
	}
	return &remote{conn, addr, conn.Close}, nil
}

// recorded connects over TCP, and writes all that the connection carries to the file of -pcap.
func (f *remoteFlags) recorded(ctx context.Context, env environment, addr string, cfg *tcp.Config) (*remote, error) {
	out, err := newFile(f.Pcap, f.Limit, env)
	if err != nil {
		return nil, &failure{code: exitFailed, stage: "pcap", err: err}
	}
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, errors.Join(explainTCP("connection", addr, err), out.close())
	}
	capture := pcapng.NewFile(out, 0)
	conn := tcp.NewConn(pcapng.Record(nc, pcapng.Recording{File: capture, Name: "client", Initiator: true, Now: time.Now}), cfg)
	return &remote{conn, addr, func() error { return errors.Join(conn.Close(), capture.Err(), out.close()) }}, nil
}

func (f *remoteFlags) overRDMA(ctx context.Context, env environment, host, addr string, wait time.Duration) (*remote, error) {
	fabric, err := newFabric(&deviceFlags{rdmaFlags: f.rdmaFlags, tlsFlags: *f.tlsFlags(), host: host}, env)
	if err != nil {
		return nil, err
	}
	dev, err := fabric.open("client")
	if err != nil {
		return nil, errors.Join(err, fabric.close())
	}
	conn, at, err := dial(ctx, fabric.flags, dev, addr, fabric.dialConfig(wait))
	if err != nil {
		return nil, errors.Join(err, fabric.close())
	}
	return &remote{conn, at, func() error { return errors.Join(conn.Close(), fabric.close()) }}, nil
}

// explainTCP is explain for a connection over TCP as well.
func explainTCP(stage, addr string, err error) *failure {
	f := explain(stage, addr, err)
	var name *net.DNSError
	var decoding *xdr.Error
	switch {
	case errors.Is(err, tcp.ErrNoTLS):
		f.code, f.help = exitPeer, "-tls wanted or off, which anyone on the path can read, or switch TLS on at the server"
	case errors.Is(err, tcp.ErrTLS):
		f.help = adviceTLS(err, "-cert, -key, -ca, -tls-name and -no-alpn that suit the server (rpcrdma help call); its log may have the reason")
	case errors.As(err, &name):
		f.stage, f.help = "name of "+addr, "check the name, or use an IP address"
	case oncrpc.IsLocal(addr) && errors.Is(err, fs.ErrNotExist):
		f.help = "start the server, or check the path of its socket"
	case oncrpc.IsLocal(addr) && errors.Is(err, fs.ErrPermission):
		f.help = "as a user who may write to the socket: ls -l " + strings.TrimPrefix(addr, oncrpc.LocalPrefix)
	case oncrpc.IsLocal(addr) && errors.Is(err, syscall.ECONNREFUSED):
		f.help = "start the server: it has left its socket"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.help = "start the server, or check the port: rpcrdma info HOST lists the programs of a host and where they are"
	case errors.Is(err, context.DeadlineExceeded):
		f.help = "a longer -W; check that no firewall drops the packets, and that an RPC server listens there"
	case errors.Is(err, tcp.ErrNotRPC):
		f.code, f.help = exitPeer, "check the port: rpcrdma info HOST lists the programs of a host and where they are"
	case errors.Is(err, tcp.ErrFull):
		f.help = "once more later, or end other connections from this host"
	case errors.Is(err, tcp.ErrRecord):
		f.code, f.help = exitPeer, "a larger -max-reply, if the server speaks RPC over TCP and its reply may be that long"
	case errors.Is(err, tcp.ErrMessage):
		f.code, f.help = exitPeer, "check that an RPC server listens there: its answer is no RPC message (RFC 5531 §9)"
	case errors.As(err, &decoding):
		f.code, f.help = exitPeer, "check that an RPC server listens there: its answer is not a valid RPC reply (RFC 5531 §9)"
	case errors.Is(err, tcp.ErrPeerClosed), errors.Is(err, syscall.ECONNRESET):
		f.help = "-carrier rdma, if the server is one of RPC over RDMA; otherwise read its log: it closed the connection"
	}
	return f
}

// adviceNoLookup says how to call without rpcbind.
const adviceNoLookup = "HOST:PORT, if the port is known: rpcbind knows the programs that are registered with it"

// explainLookup is explainTCP for a question to the rpcbind at an address. without says what to try
// without rpcbind.
func explainLookup(addr, without string, err error) *failure {
	f := explainTCP("question to rpcbind", addr, err)
	var name *net.DNSError
	switch {
	case errors.As(err, &name), errors.Is(err, context.DeadlineExceeded):
	case f.code == exitPeer && !errors.Is(err, rpcbind.ErrNotRegistered):
		f.help = "check that rpcbind listens there; " + without
	default:
		f.help = without
	}
	if errors.Is(err, rpcbind.ErrNotRegistered) {
		f.code = exitPeer
	}
	return f
}
