package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Config configures Open.
type Config struct {
	// Cert is the PEM file with the certificate of this side, and those between it and its
	// authority, its own first. If empty, this side does not have a certificate.
	Cert string

	// Key is the PEM file with the private key of the certificate. If empty, it is in Cert.
	Key string

	// CA is the PEM file with the authorities that peers' certificates must come from. If empty,
	// a client trusts the authorities of the system, and a server does as Base says.
	CA string

	// Base has all other settings, which Files.TLS copies. If it has no ClientAuth and CA is set, a
	// server requires certificates of its clients. It must not have Certificates or the functions
	// that Files.TLS sets, and with CA neither RootCAs nor ClientCAs. It may be nil.
	Base *tls.Config

	// Interval is the time for which the files are used without another look. If zero, the default
	// is 5 s. If negative, only Reload looks at the files.
	Interval time.Duration

	// Logger gets a line when something new is taken, and when a file cannot be used, once for
	// each reason. If nil, errors alone go to the slog.Default at the call of Open.
	Logger *slog.Logger
}

// Files is a TLS configuration that follows its files. All methods are safe for concurrent use.
// It has no goroutine and no open file, and needs no Close.
type Files struct {
	cfg     Config
	news    *slog.Logger // of changes
	faults  *slog.Logger
	current atomic.Pointer[material]
	next    atomic.Int64 // time of the next look in nanoseconds since start
	start   time.Time

	mu            sync.Mutex // held by the goroutine that looks
	cert, key, ca file
	failed        error // of the last look
	pairFault     string
	authFault     string // texts that were logged, or ""
}

// material has the valid content of the files. It does not change.
type material struct {
	pair     *tls.Certificate // nil without Config.Cert
	pool     *x509.CertPool   // nil without Config.CA
	accepted *tls.Config      // the configuration of a server's next handshake
	pairFrom [2][]byte        // the contents that pair and pool were made of
	poolFrom []byte
}

// Open reads the files. All of them must be valid; the error is an *Error if one is not.
func Open(cfg *Config) (*Files, error) {
	if cfg == nil {
		cfg = new(Config)
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	f := &Files{cfg: *cfg, start: time.Now(), news: cfg.Logger, faults: cfg.Logger}
	if cfg.Logger == nil {
		f.news, f.faults = slog.New(slog.DiscardHandler), slog.Default()
	}
	if f.cfg.Base = cfg.Base.Clone(); f.cfg.Base == nil { // Clone of nil is nil
		f.cfg.Base = new(tls.Config)
	}
	if f.cfg.Interval == 0 {
		f.cfg.Interval = 5 * time.Second
	}
	f.cert, f.ca = file{field: "Cert", path: cfg.Cert}, file{field: "CA", path: cfg.CA}
	if f.key = (file{field: "Key", path: cfg.Key}); cfg.Key == "" {
		f.key.path = cfg.Cert
	}
	m, err := f.build(new(material))
	if err != nil {
		return nil, err
	}
	f.current.Store(m)
	f.postpone()
	return f, nil
}

// check refuses a configuration in which something would have no effect.
func (c *Config) check() error {
	switch b := c.Base; {
	case c.Key != "" && c.Cert == "":
		return errors.New("certs: Config.Key is set and Cert is not: a key needs its certificate")
	case b == nil:
	case len(b.Certificates) > 0 || b.GetCertificate != nil || b.GetClientCertificate != nil || b.GetConfigForClient != nil:
		return errors.New("certs: Config.Base has certificates, or a function that chooses them: Config.Cert does that")
	case c.CA != "" && (b.RootCAs != nil || b.ClientCAs != nil):
		return errors.New("certs: Config.Base has authorities: Config.CA does that")
	}
	return nil
}

// TLS returns a configuration for both roles, which looks at the files in its handshakes. A client
// may change it. The settings of a server belong in Config.Base: its handshakes take no others. The
// RootCAs stay as they are: see the documentation of the package.
func (f *Files) TLS() *tls.Config {
	f.look()
	m := f.current.Load()
	c := m.accepted.Clone()
	c.Certificates = nil
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		f.look()
		return f.current.Load().accepted, nil
	}
	if m.pair != nil {
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			f.look()
			return f.current.Load().pair, nil
		}
		c.GetClientCertificate = f.clientCertificate
	}
	return c
}

// clientCertificate returns the certificate of a client, or an empty one if the server would not
// accept it, as crypto/tls does for Certificates.
func (f *Files) clientCertificate(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	f.look()
	pair := f.current.Load().pair
	if asked.SupportsCertificate(pair) != nil {
		return new(tls.Certificate), nil
	}
	return pair, nil
}

// Reload looks at the files now. The error says which could not be used: what they had before stays
// in use. It is an *Error, or several that errors.Join has joined.
func (f *Files) Reload() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reload()
}

// Err returns the error of the last look at the files, or nil.
func (f *Files) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// look looks at the files if it is time. Of many handshakes at that time one does, and the others
// use what there is.
func (f *Files) look() {
	if f.cfg.Interval < 0 || time.Since(f.start) < time.Duration(f.next.Load()) || !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	_ = f.reload() // logged
}

// postpone sets the time of the next look.
func (f *Files) postpone() { f.next.Store(int64(time.Since(f.start) + f.cfg.Interval)) }

// reload reads the files and uses their new and valid parts. f.mu must be held.
func (f *Files) reload() error {
	old := f.current.Load()
	m, err := f.build(old)
	f.current.Store(m)
	f.postpone()
	f.failed = err
	return err
}

// build returns what the files have, and of old what they do not have any more. f.mu must be held,
// except by Open.
func (f *Files) build(old *material) (*material, error) {
	m := *old
	pairErr := f.buildPair(&m)
	poolErr := f.buildPool(&m)
	f.report(&f.pairFault, pairErr)
	f.report(&f.authFault, poolErr)
	if m.pair != old.pair || m.pool != old.pool || m.accepted == nil {
		c := f.cfg.Base.Clone()
		if m.pair != nil {
			c.Certificates = []tls.Certificate{*m.pair}
		}
		if m.pool != nil {
			c.RootCAs, c.ClientCAs = m.pool, m.pool
			if c.ClientAuth == tls.NoClientCert {
				c.ClientAuth = tls.RequireAndVerifyClientCert
			}
		}
		m.accepted = c
	}
	return &m, errors.Join(pairErr, poolErr)
}

// buildPair reads certificate and key.
func (f *Files) buildPair(m *material) error {
	if f.cert.path == "" {
		return nil
	}
	if err := errors.Join(f.cert.read(), f.key.read()); err != nil {
		return err
	}
	from := [2][]byte{f.cert.content, f.key.content}
	if m.pair != nil && bytes.Equal(from[0], m.pairFrom[0]) && bytes.Equal(from[1], m.pairFrom[1]) {
		return nil
	}
	pair, err := pairOf(&f.cert, &f.key)
	if err != nil {
		return err
	}
	if m.pair != nil {
		f.news.Info("certs: the certificate was replaced", "file", f.cert.path, "subject", name(pair.Leaf),
			"serial", pair.Leaf.SerialNumber.String(), "not_after", pair.Leaf.NotAfter)
	}
	m.pair, m.pairFrom = pair, from
	return nil
}

// buildPool reads the authorities.
func (f *Files) buildPool(m *material) error {
	if f.ca.path == "" {
		return nil
	}
	if err := f.ca.read(); err != nil {
		return err
	}
	if m.pool != nil && bytes.Equal(f.ca.content, m.poolFrom) {
		return nil
	}
	pool, all, err := poolOf(&f.ca)
	if err != nil {
		return err
	}
	if m.pool != nil {
		f.news.Info("certs: the authorities were replaced", "file", f.ca.path, "authorities", len(all))
	}
	m.pool, m.poolFrom = pool, f.ca.content
	return nil
}

// report logs a failure, unless the last look had the same, and its end. Open returns its own.
func (f *Files) report(last *string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == *last || f.current.Load() == nil {
		return
	}
	*last = text
	if err != nil {
		f.faults.Error("certs: a file cannot be used, what it had before stays in use", "reason", err)
		return
	}
	f.news.Info("certs: the files can be used again")
}
