package cases

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// authority issues certificates for a case. They are valid for an hour around now.
type authority struct {
	t     *T
	pool  *x509.CertPool
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
	tlshd *Process // of the guest, if it has a certificate of this authority
}

func newAuthority(t *T) *authority {
	a := &authority{t: t, pool: x509.NewCertPool()}
	template := a.template("authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	a.key = a.newKey()
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	t.Must(err)
	a.cert, err = x509.ParseCertificate(der)
	t.Must(err)
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.t.Must(err)
	return key
}

func (a *authority) template(name string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	a.t.Must(err)
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

// issue returns a certificate for the host of a name and addresses, as client and as server.
func (a *authority) issue(name string, addrs ...string) tls.Certificate {
	template := a.template(name)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{name}
	for _, addr := range addrs {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(addr))
	}
	key := a.newKey()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	a.t.Must(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// The names of the two hosts, as the guest's /etc/hosts has them.
const (
	guestName = "guest"
	hostName  = "host"
)

// tlsFolder is the guest's folder with the files of tlshd.
const tlsFolder = "/tmp/tls"

// tlshdConfig is the configuration of tlshd (tlshd.conf(5)).
const tlshdConfig = `[debug]
loglevel=1
[authenticate]
[authenticate.client]
x509.truststore=` + tlsFolder + `/ca.pem
x509.certificate=` + tlsFolder + `/cert.pem
x509.private_key=` + tlsFolder + `/key.pem
[authenticate.server]
x509.truststore=` + tlsFolder + `/ca.pem
x509.certificate=` + tlsFolder + `/cert.pem
x509.private_key=` + tlsFolder + `/key.pem
`

// startTLSHD starts tlshd in the guest until the end of the case, with a certificate of the
// authority that it returns.
func startTLSHD(t *T) *authority {
	requireTLS(t)
	a := newAuthority(t)
	own := a.issue(guestName, guest.GuestAddr)
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	t.Must(err)
	t.Run("mkdir", "-p", tlsFolder)
	put := func(name string, mode uint32, data []byte) {
		t.Must(t.Guest().Put(t.Context(), tlsFolder+"/"+name, mode, bytes.NewReader(data)))
	}
	put("ca.pem", 0o644, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
	put("cert.pem", 0o644, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}))
	put("key.pem", 0o600, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	put("tlshd.conf", 0o644, []byte(tlshdConfig))
	a.tlshd = t.Background("/later/run", "tlshd", "-s", "-c", tlsFolder+"/tlshd.conf")
	// The kernel asks a multicast group of generic netlink (protocol 16). Wait until tlshd is a
	// member.
	t.Shell(`until awk '$2 == 16 && $4 != "00000000" { n++ } END { exit !n }' /proc/net/netlink; do sleep 0.1; done`)
	return a
}

// requireTLS skips the case if the guest has no RPC-with-TLS.
func requireTLS(t *T) {
	if t.Shell("test -x /later/run || echo none") != "" {
		t.Skipf("Linux %s has no RPC-with-TLS: the server has it since 6.4, the client since 6.5", t.Kernel())
	}
}
