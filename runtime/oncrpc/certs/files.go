package certs

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxFile is the size of the largest file that is read, in bytes. The authorities of a system have
// about 220 KiB.
const maxFile = 1 << 20

// Error reports a file that cannot be used.
type Error struct {
	Field string // the field of Config that names the file: "Cert", "Key" or "CA"
	Err   error  // names the file
}

// Error returns the text of the reason.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

func fault(field, format string, args ...any) error {
	return &Error{Field: field, Err: fmt.Errorf(format, args...)}
}

// file is a file that is read again and again.
type file struct {
	field, path string
	once        bool // a pipe, for example, which can be read only once
	content     []byte
}

// read reads the file. An error leaves the content.
func (f *file) read() error {
	if f.path == "" || f.once {
		return nil
	}
	content, regular, err := readFile(f.path, f.content == nil)
	if err != nil {
		return &Error{Field: f.field, Err: err}
	}
	f.once = !regular
	f.content = content
	return nil
}

// readFile returns the content of a file. Only the first time it may be something else than a
// regular file: a pipe would block the handshake that reads it.
func readFile(path string, first bool) (content []byte, regular bool, err error) {
	info, err := os.Stat(path)
	regular = err == nil && info.Mode().IsRegular()
	if err == nil && !first && !regular {
		return nil, false, fmt.Errorf("%s is not a regular file any more", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return content, regular, err
}

// pairOf returns the certificate with its key.
func pairOf(cert, key *file) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert.content, key.content)
	switch {
	case err == nil:
		for _, f := range []*file{cert, key} {
			if !whole(f.content) {
				return nil, fault(f.field, "%s has the beginning of a PEM block without its end", f.path)
			}
		}
		return &pair, nil
	case !bytes.Contains(cert.content, []byte("-----BEGIN CERTIFICATE-----")):
		return nil, fault("Cert", "%s has no certificate in PEM", cert.path)
	case !bytes.Contains(key.content, []byte("PRIVATE KEY-----")):
		return nil, fault("Key", "%s has no private key in PEM", key.path)
	case strings.Contains(err.Error(), "does not match"):
		return nil, fault("Key", "%s is not the private key of the first certificate in %s", key.path, cert.path)
	}
	return nil, fault("Cert", "%s and %s: %w", cert.path, key.path, err)
}

// whole reports whether every PEM block that begins in a file also ends there. The decoder skips
// others without a word.
func whole(content []byte) bool {
	begun := bytes.Count(content, []byte("-----BEGIN "))
	for ; ; begun-- {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			return begun == 0
		}
	}
}

// poolOf returns the authorities. A certificate that cannot be parsed is an error, where
// CertPool.AppendCertsFromPEM would leave it out.
func poolOf(f *file) (*x509.CertPool, []*x509.Certificate, error) {
	if !whole(f.content) {
		return nil, nil, fault("CA", "%s has the beginning of a PEM block without its end", f.path)
	}
	pool := x509.NewCertPool()
	var all []*x509.Certificate
	for rest := f.content; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, nil, fault("CA", "%s: certificate %d: %w", f.path, len(all)+1, err)
		}
		pool.AddCert(cert)
		all = append(all, cert)
	}
	if len(all) == 0 {
		return nil, nil, fault("CA", "%s has no certificate in PEM", f.path)
	}
	return pool, all, nil
}

// name describes a certificate for the log.
func name(c *x509.Certificate) string {
	return cmp.Or(c.Subject.String(), strings.Join(c.DNSNames, ","), "serial number "+c.SerialNumber.String())
}
