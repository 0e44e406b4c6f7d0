package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// explain adds the reason to an error of a TLS handshake, and what to do about it. An error that
// another attempt would have again is a verbs.ErrTLS.
func (c *tlsConn) explain(err error) error {
	var (
		plain    *notTLSError
		protocol *alpnError
		untrust  *tls.CertificateVerificationError
	)
	what := ""
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("TLS handshake: after %d bytes of the peer: %w", c.sock.received, os.ErrDeadlineExceeded)
	case errors.Is(err, net.ErrClosed):
		return fmt.Errorf("TLS handshake: after %d bytes of the peer: %w", c.sock.received, err)
	case isClosed(err) && c.sock.received == 0:
		return peerClosed(fmt.Errorf("TLS handshake: the peer closed the connection without an answer: it may have no TLS at this address: %w", err))
	case isClosed(err):
		return peerClosed(fmt.Errorf("TLS handshake: the peer closed the connection: %w", err))
	case errors.As(err, &plain):
		what = "unset Config.TLS here, or set it there"
	case errors.As(err, &protocol):
	case errors.As(err, &untrust):
		what = c.untrusted(untrust)
	default:
		what = c.alert(err)
	}
	if what != "" {
		what = "; " + what
	}
	return fmt.Errorf("%w: %w%s", verbs.ErrTLS, err, what)
}

// isClosed reports whether the peer closed or reset the connection.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// untrusted says what to do about a certificate of the peer that was not accepted.
func (c *tlsConn) untrusted(err *tls.CertificateVerificationError) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	roots := "Config.TLS.RootCAs"
	if c.isServer {
		roots = "Config.TLS.ClientCAs"
	}
	switch {
	case errors.As(err, &authority):
		return roots + " must have the authority that has signed the peer's certificate"
	case errors.As(err, &host):
		return "Config.TLS.ServerName must be a name of the certificate, if that is the right server"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the peer needs a certificate that is valid now; check the clocks"
	}
	return ""
}

// alert says what an alert of the peer means, or "" for another error. The texts are those of
// crypto/tls, which does not export the numbers.
func (c *tlsConn) alert(err error) string {
	remote := (*net.OpError)(nil)
	if !errors.As(err, &remote) || remote.Op != "remote error" {
		return ""
	}
	switch remote.Err.Error() {
	case "tls: no application protocol":
		return fmt.Sprintf("the peer speaks none of the application protocols %q: its port serves another protocol", c.config.NextProtos)
	case "tls: certificate required":
		return "set Config.TLS.Certificates: the peer requires a certificate, of an authority that it accepts"
	case "tls: bad certificate", "tls: unknown certificate authority", "tls: unknown certificate", "tls: unsupported certificate",
		"tls: revoked certificate", "tls: expired certificate":
		return "the peer does not accept the certificate of this side; its log has the reason"
	case "tls: protocol version not supported":
		return fmt.Sprintf("the peer does not have %s, the least version of this side (Config.TLS.MinVersion)", tls.VersionName(c.config.MinVersion))
	}
	return "the peer has sent this alert; its log has the reason"
}

// setUpFailed returns the error of a set-up over c that has failed with err. It recognizes a peer
// whose TLS differs.
func (c *Conn) setUpFailed(err error) error {
	if s, ok := c.conn.(*tlsConn); ok {
		// A server's verdict on the client's certificate comes after the client's handshake.
		if s.alert(err) != "" {
			return s.explain(err)
		}
		return peerClosed(err)
	}
	// The set-up does not move what it has read, so that the first bytes are where they were.
	if first := c.buf[:c.w]; len(first) > 1 && isRecord(first) {
		return fmt.Errorf("%w: the peer speaks TLS: set Config.TLS here, or unset it there: its first bytes are %q: %w", verbs.ErrTLS, first[:min(len(first), 16)], err)
	}
	return peerClosed(err)
}
