package replycache

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// clientOf returns the client that sent a Call, as well as the cache can know it, and its source
// for limits. An identity says more than an address: it stays when a host gets another address, and
// differs between hosts behind one address. All identities of a Call count together, because a
// host's certificate and a user's principal say different things.
func clientOf(r *oncrpc.Request) (client, source string) {
	conn := r.Conn()
	client, source = oncrpc.HostOf(conn.RemoteAddr())
	if d, ok := conn.(interface{ Network() string }); ok && strings.HasPrefix(d.Network(), oncrpc.NetIDUDP) {
		client = conn.RemoteAddr() // a client sends a Call again from the same socket
	}
	var id strings.Builder
	peer := conn.Peer()
	if host := peer.Host; host != nil {
		id.WriteString("host " + host.Method + " " + host.Name + "\n")
	}
	if tls := peer.TLS; tls != nil && tls.Verified && len(tls.PeerCertificates) > 0 {
		sum := sha256.Sum256(tls.PeerCertificates[0])
		id.WriteString("certificate " + string(sum[:]) + "\n")
	}
	if p, ok := r.Responder.(oncrpc.Authenticated); ok {
		id.WriteString("principal " + p.Principal() + "\n")
	}
	if id.Len() > 0 {
		client = id.String()
	}
	return client, source
}

// probe makes connections find out whether their clients are still there, within limit.
func probe(conns []oncrpc.Conn, limit time.Duration) {
	for _, c := range conns {
		if p, ok := c.(oncrpc.Prober); ok {
			p.Probe(limit / 2)
		}
	}
}
