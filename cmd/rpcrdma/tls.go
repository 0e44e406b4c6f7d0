package main

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/certs"
)

// tlsFlags are the flags of TLS, which the commands with a device share.
type tlsFlags struct {
	TLS      bool   `name:"tls"`
	Cert     string `name:"cert"`
	Key      string `name:"key"`
	CA       string `name:"ca"`
	TLSName  string `name:"tls-name"`
	Insecure bool   `name:"insecure"`
}

// check refuses flags that have no effect, or contradict each other.
func (t *tlsFlags) check(provider string) error {
	for _, f := range []struct {
		name string
		set  bool
	}{{"-cert", t.Cert != ""}, {"-key", t.Key != ""}, {"-ca", t.CA != ""}, {"-tls-name", t.TLSName != ""}, {"-insecure", t.Insecure}} {
		if f.set && !t.TLS {
			return fmt.Errorf("%s has no effect without -tls", f.name)
		}
	}
	switch {
	case t.TLS && provider == "ibverbs":
		return errors.New("the provider ibverbs has no TLS: the devices have none")
	case t.TLS && provider == "mem":
		return errors.New("the provider mem has no TLS: its connections stay in this process")
	case t.Key != "" && t.Cert == "":
		return errors.New("-key needs -cert, the certificate of the key")
	}
	return nil
}

// config returns the configuration of a device for both roles, or nil without -tls. host is the
// name of the server.
func (t *tlsFlags) config(host string) (*tls.Config, error) {
	files, err := t.open(host, nil)
	if files == nil {
		return nil, err
	}
	return files.TLS(), nil
}

// open reads the files of the flags. It returns nil without -tls. The error is a *failure.
func (t *tlsFlags) open(host string, log *slog.Logger) (*certs.Files, error) {
	if !t.TLS {
		return nil, nil
	}
	files, err := certs.Open(&certs.Config{
		Cert: t.Cert, Key: t.Key, CA: t.CA, Logger: log,
		Base: &tls.Config{ServerName: cmp.Or(t.TLSName, host), InsecureSkipVerify: t.Insecure},
	})
	if err == nil {
		return files, nil
	}
	f := &failure{code: exitFailed, stage: "certificate", err: err}
	var wrong *certs.Error
	if !errors.As(err, &wrong) {
		return nil, f
	}
	missing := errors.Is(err, os.ErrNotExist)
	switch {
	case wrong.Field == "CA":
		f.stage, f.help = "authorities", "-ca is a PEM file with the certificates of authorities"
	case wrong.Field == "Cert" && missing:
		f.help = "-cert FILE is a PEM file with the certificate of this side"
	case wrong.Field == "Cert":
		f.help = "-cert FILE with a certificate, and -key FILE with its private key, both in PEM"
	case missing:
		f.help = "-key FILE is a PEM file with the private key of the certificate in -cert"
	default:
		f.help = "-key FILE with the private key of the certificate in " + t.Cert
	}
	return nil, f
}

// adviceTLS returns what to try after two ends did not agree on TLS: by the reason, if it is known.
func adviceTLS(err error, other string) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return "-ca FILE with the authority that has issued the server's certificate; for a test, -insecure accepts any server"
	case errors.As(err, &host):
		return "the server by a name of its certificate, or -tls-name with such a name, if that is the right server"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "a certificate of the server that is valid now; check the clocks of both hosts"
	case tlsstream.RefusesCertificate(err):
		return "-cert and -key with a certificate of an authority that the server accepts; its log may have the reason"
	}
	return other
}

// temporary adds a certificate for 127.0.0.1 that only this configuration trusts.
func temporary(c *tls.Config) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "rpcrdma perf"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	c.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	c.GetConfigForClient = nil // it would choose a configuration without the certificate
	c.RootCAs = x509.NewCertPool()
	c.RootCAs.AddCert(leaf)
	c.ServerName = "127.0.0.1"
	return nil
}

// describeTLS returns the version and cipher suite of a connection and the name of the server, and
// false without TLS.
func describeTLS(conn *rdmaio.Conn) (version, suite, server string, ok bool) {
	s := conn.Peer().TLS
	if s == nil {
		return "", "", "", false
	}
	if len(s.PeerCertificates) > 0 {
		if c, err := x509.ParseCertificate(s.PeerCertificates[0]); err == nil {
			server = cmp.Or(c.Subject.String(), fmt.Sprintf("%q", c.DNSNames))
		}
	}
	if !s.Verified {
		server += ", not verified"
	}
	return s.Version, s.CipherSuite, server, true
}

// printTLS prints a line about TLS, if the connection has it.
func printTLS(env environment, conn *rdmaio.Conn) {
	if version, suite, server, ok := describeTLS(conn); ok {
		fmt.Fprintf(env.stdout, "%s, %s, certificate of %s\n", version, suite, server)
	}
}

// tlsJSON adds the fields of TLS to a start object, if the connection has TLS.
func tlsJSON(fields map[string]any, conn *rdmaio.Conn) {
	if version, suite, server, ok := describeTLS(conn); ok {
		fields["tls_version"], fields["tls_cipher_suite"], fields["tls_server"] = version, suite, server
	}
}

// requireTLS makes -tls of call a flag without a value, as in all other commands: it then means
// required.
func requireTLS(args []string) []string {
	if len(args) == 0 || args[0] != "call" {
		return args
	}
	var out []string
	for i, a := range args {
		if a == "--" {
			return append(out, args[i:]...)
		}
		if out = append(out, a); a != "-tls" && a != "--tls" {
			continue
		}
		// Another flag or the name of a file follows, and no word that may be a wrong mode.
		if i+1 == len(args) || strings.HasPrefix(args[i+1], "-") || strings.ContainsAny(args[i+1], "./") {
			out = append(out, "required")
		}
	}
	return out
}

// tlsWithMode returns the complaint about a command line. If it has a mode after the flag -tls of a
// command whose flag takes none, the complaint is about that: the command has an argument too many.
func tlsWithMode(args []string, err error) error {
	for i, a := range args[:len(args)-1] {
		mode := args[i+1]
		if args[0] != "call" && strings.TrimLeft(a, "-") == "tls" && (mode == "off" || mode == "wanted" || mode == "required") {
			return fmt.Errorf("-tls: found %q after it, expected no mode: %s uses TLS if -tls is given", mode, args[0])
		}
	}
	return err
}
