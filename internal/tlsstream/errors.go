package tlsstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
)

// Explain adds the reason to an error of a TLS handshake, and what to do about it. An error that
// another attempt would have again has Options.Mark.
func (c *Conn) Explain(err error) error {
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
	case Closed(err) && c.sock.received == 0:
		return fmt.Errorf("TLS handshake: the peer closed the connection without an answer: it may have no TLS at this address: %w", err)
	case Closed(err):
		return fmt.Errorf("TLS handshake: the peer closed the connection: %w", err)
	case errors.As(err, &plain):
		what = "unset " + c.settings.ConfigField + " here, or set it there"
	case errors.As(err, &protocol):
	case errors.As(err, &untrust):
		what = c.untrusted(untrust)
	default:
		what = c.alert(err)
	}
	if what != "" {
		what = "; " + what
	}
	return fmt.Errorf("%w: %w%s", c.settings.Mark, err, what)
}

// Closed reports whether the peer closed or reset the connection.
func Closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// untrusted says what to do about a certificate of the peer that was not accepted.
func (c *Conn) untrusted(err *tls.CertificateVerificationError) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	roots := c.settings.ConfigField + ".RootCAs"
	if c.isServer {
		roots = c.settings.ConfigField + ".ClientCAs"
	}
	switch {
	case errors.As(err, &authority):
		return roots + " must have the authority that has signed the peer's certificate"
	case errors.As(err, &host):
		return c.settings.ConfigField + ".ServerName must be a name of the certificate, if that is the right server"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the peer needs a certificate that is valid now; check the clocks"
	}
	return ""
}

// alert explains a TLS alert of the peer. For any other error it returns "".
func (c *Conn) alert(err error) string {
	remote, ok := alertOf(err)
	if !ok {
		return ""
	}
	switch text := remote.Err.Error(); {
	case text == "tls: no application protocol":
		return fmt.Sprintf("the peer speaks none of the application protocols %q: its port serves another protocol", c.config.NextProtos)
	case text == alertRequired:
		return "set " + c.settings.ConfigField + ".Certificates: the peer requires a certificate, of an authority that it accepts"
	case slices.Contains(certificateAlerts, text):
		return "the peer does not accept the certificate of this side; its log may have the reason"
	case text == "tls: protocol version not supported":
		return fmt.Sprintf("the peer does not have %s, the least version of this side (%s.MinVersion)", tls.VersionName(c.config.MinVersion), c.settings.ConfigField)
	}
	return "the peer has sent this alert; its log may have the reason"
}

// RefusesCertificate reports whether an error is an alert of a server that does not accept the
// client's certificate, or wants one. It sends that during the handshake, before it reads data.
func RefusesCertificate(err error) bool {
	remote, ok := alertOf(err)
	return ok && (remote.Err.Error() == alertRequired || slices.Contains(certificateAlerts, remote.Err.Error()))
}

// Texts of crypto/tls for alerts, whose numbers it does not export (RFC 8446 §6.2).
const alertRequired = "tls: certificate required"

// certificateAlerts says that a certificate is not accepted.
var certificateAlerts = []string{
	"tls: bad certificate", "tls: unknown certificate authority", "tls: unknown certificate", "tls: unsupported certificate",
	"tls: revoked certificate", "tls: expired certificate",
}

// IsAlert reports whether an error is an alert of the peer.
func IsAlert(err error) bool {
	_, ok := alertOf(err)
	return ok
}

func alertOf(err error) (*net.OpError, bool) {
	remote := (*net.OpError)(nil)
	ok := errors.As(err, &remote) && remote.Op == "remote error"
	return remote, ok
}
