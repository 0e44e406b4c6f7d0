package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/certs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// tlsFlags are the flags of TLS.
type tlsFlags struct{ mode, cert, key, ca string }

// tlsModes are the values of -tls.
var tlsModes = map[string]tcp.TLSMode{"": tcp.TLSOff, "off": tcp.TLSOff, "wanted": tcp.TLSWanted, "required": tcp.TLSRequired}

// check refuses flags that have no effect, or contradict each other.
func (t *tlsFlags) check(rdma string) error {
	mode, ok := tlsModes[t.mode]
	switch files := cmp.Or(t.cert, t.key, t.ca); {
	case !ok:
		return fmt.Errorf("found -tls %.64q, expected off, wanted or required", t.mode)
	case mode == tcp.TLSOff && files != "":
		return errors.New("-cert, -key and -ca have no effect without -tls wanted or -tls required")
	case mode == tcp.TLSOff:
		return nil
	case t.cert == "":
		return errors.New("a server with -tls needs a certificate: -cert, and -key")
	case mode == tcp.TLSRequired && rdma != "":
		return errors.New("-tls required: connections over RDMA have no TLS: add -rdma '', or use -tls wanted")
	}
	return nil
}

// open returns the configuration of connections over TCP, and the function that stops the watch
// for SIGHUP. Linux names no application protocol (ADR 0068).
func (t *tlsFlags) open() (cfg *tcp.Config, end func(), err error) {
	if tlsModes[t.mode] == tcp.TLSOff {
		return nil, func() {}, nil
	}
	files, err := certs.Open(&certs.Config{Cert: t.cert, Key: t.key, CA: t.ca, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", t.flag(err), err)
	}
	cfg = &tcp.Config{TLS: tcp.TLS{Mode: tlsModes[t.mode], Config: files.TLS(), WithoutALPN: true}}
	return cfg, files.ReloadAt(), nil
}

// option adds the option that makes Linux use TLS to a command line of mount.
func (t *tlsFlags) option(mount string) string {
	before := " -o "
	if strings.Contains(mount, before) {
		before = ","
	}
	if t.ca != "" {
		return mount + before + "xprtsec=mtls"
	}
	return mount + before + "xprtsec=tls"
}

// flag returns the flag that names the file of an error.
func (t *tlsFlags) flag(err error) string {
	var wrong *certs.Error
	switch {
	case !errors.As(err, &wrong):
		return "TLS"
	case wrong.Field == "CA":
		return "-ca"
	case wrong.Field == "Key" && t.key != "":
		return "-key"
	}
	return "-cert"
}
