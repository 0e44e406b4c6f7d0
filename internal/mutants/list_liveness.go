package main

var (
	livenessTests = []string{"internal/liveness"}
	tlsTests      = []string{"internal/tlsstream"}
)

// livenessMutants let peers that vanish or misbehave live for longer, or cost more.
var livenessMutants = []mutant{
	{"the rest of a TLS record is waited for without a limit", "internal/tlsstream/conn.go", "if s.limit > 0 && s.settled && s.records.within() {", "if false {", tlsTests},
	{"each part of a TLS record has the whole time", "internal/tlsstream/slow.go", "start.Add(s.limit - s.records.wait)", "start.Add(s.limit)", tlsTests},
	{"the deadline of a TLS record stays", "internal/tlsstream/slow.go", "\t_ = s.bound(time.Time{})\n", "", tlsTests},
	{"the wait for a TLS record counts for the next one", "internal/tlsstream/slow.go", "\t\t\tr.wait = 0\n", "", tlsTests},
	{"the reader's own deadline is lost in a TLS record", "internal/tlsstream/slow.go", "(d.above.IsZero() || t.Before(d.above))", "true", tlsTests},
	{"a TLS record has no limit over rdmatcp and iwarp", "rdmaio/providers/internal/stream/tls.go", ", RecordTimeout: cfg.SegmentTimeout", "", livenessTests},
	{"a TLS record has no limit over tcp", "runtime/oncrpc/tcp/tls.go", ", RecordTimeout: s.RecordTimeout", "", livenessTests},
	{"a peer over tcp is not watched", "runtime/oncrpc/tcp/conn.go", "\tdeadpeer.Watch(nc, set.PeerTimeout)\n", "", livenessTests},
	{"sent data may stay unacknowledged for longer", "internal/deadpeer/deadpeer.go", "\t})\n\tlimitUnacked(tcp, limit)", "\t})\n\tlimitUnacked(tcp, 4*limit)", livenessTests},
	{"a second goroutine for each connection over tcp", "runtime/oncrpc/tcp/conn.go", "\tgo c.read()\n", "\tgo func() { <-c.ctx.Done() }()\n\tgo c.read()\n", livenessTests},
	{"records arrive from a peer that has vanished", "runtime/oncrpc/mem/link.go", "\t\tif l.gone.Load() {\n\t\t\tcontinue", "\t\tif false {\n\t\t\tcontinue", livenessTests},
	{"a simulated peer that has vanished is not noticed", "runtime/oncrpc/mem/link.go", "limit := time.Duration(s.limit.Load()); limit > 0 {", "limit := time.Duration(s.limit.Load()); limit < 0 {", livenessTests},
}
