package main

var (
	hostauthTests = []string{"rdmaio/hostauth"}
	pubkeyTests   = []string{"rdmaio/hostauth/pubkey"}
)

const (
	sessionFile    = "rdmaio/hostauth/session.go"
	exchangeFile   = "rdmaio/hostauth/pubkey/exchange.go"
	identityFile   = "rdmaio/hostauth/pubkey/identity.go"
	transcriptFile = "rdmaio/hostauth/pubkey/transcript.go"
	signFile       = "rdmaio/hostauth/pubkey/sign.go"
	messageFile    = "rdmaio/hostauth/pubkey/message.go"
	pubkeyFile     = "rdmaio/hostauth/pubkey/config.go"
)

// hostauthMutants are in host authentication.
var hostauthMutants = []mutant{
	// The session.
	{"rounds of an authentication without end", sessionFile, "	case s.limits.Rounds >= 0 && s.rounds == s.limits.Rounds:\n		return s.fail", "	case false:\n		return s.fail", hostauthTests},
	{"each authentication message may have all bytes", sessionFile, "	s.bytes += len(msg)", "	_ = msg", hostauthTests},
	{"a message after the authentication", sessionFile, "	case s.done:", "	case false:", hostauthTests},
	{"a peer is known after an error", sessionFile, "if !s.done || s.err != nil {", "if !s.done && s.err == nil {", hostauthTests},
	{"a failed authentication goes on", sessionFile, "		s.err = err\n", "", hostauthTests},
	// The transcript.
	{"the roles sign the same text", transcriptFile, "append([]byte(context), role.String()...)", "append([]byte(context), hostauth.Client.String()...)", pubkeyTests},
	{"digests are not signed", transcriptFile, "	for i := range d {\n", "	for i := range d[:0] {\n", pubkeyTests},
	{"the last digest is not signed", transcriptFile, "	for i := range d {\n", "	for i := range d[:2] {\n", pubkeyTests},
	{"parts of a digest without length", transcriptFile, "		h.Write(n[:])\n", "", pubkeyTests},
	{"properties in the order of the end", transcriptFile, "	if info.Role == hostauth.Server {", "	if false {", pubkeyTests},
	{"the type of a channel binding is ignored", transcriptFile, "[]byte(info.Binding.Type), info", "nil, info", pubkeyTests},
	{"the client's hello is not in the digest", transcriptFile, "digest(digestNames[0], client, server)", "digest(digestNames[0], nil, server)", pubkeyTests},
	{"the server's hello is not in the digest", transcriptFile, "digest(digestNames[0], client, server)", "digest(digestNames[0], client, nil)", pubkeyTests},
	// The exchange.
	{"digests of the peer are not compared", exchangeFile, "d[i][:]) != 1 {", "d[i][:]) > 1 {", pubkeyTests},
	{"signatures are not verified", exchangeFile, "	if !verify(key, signed(", "	if false && !verify(key, signed(", pubkeyTests},
	{"own messages are accepted", exchangeFile, "	case x.sent != nil && bytes.Equal(msg, x.sent):", "	case false:", pubkeyTests},
	{"the own nonce is accepted", exchangeFile, "	if h.nonce == x.nonce {", "	if false {", pubkeyTests},
	{"every type of message is expected", exchangeFile, "	case t != expect:", "	case false:", pubkeyTests},
	{"a message after an error", exchangeFile, "	x.expect = 0\n", "", pubkeyTests},
	{"the caller's message is kept", exchangeFile, "	msg = bytes.Clone(msg)", "	msg = msg[:]", pubkeyTests},
	{"a nonce of zeros", exchangeFile, "io.ReadFull(x.m.cfg.Rand, x.nonce[:])", "io.ReadFull(x.m.cfg.Rand, make([]byte, nonceSize))", pubkeyTests},
	{"a faulty own signature is sent", exchangeFile, "	if err == nil && !verify(x.m", "	if err == nil && false && !verify(x.m", pubkeyTests},
	{"a client without the server's name", exchangeFile, `m.cfg.ServerName == "" && m.cfg.Verify == nil:`, "false:", pubkeyTests},
	{"RequireBinding is ignored", exchangeFile, "m.cfg.RequireBinding && ", "false && ", pubkeyTests},
	// Identities.
	{"any accepted key is the server's", identityFile, `want != "" && name != want {`, `want != "" && false {`, pubkeyTests},
	{"a name in a certificate is not checked", identityFile, "DNSName: x.serverName(),", `DNSName: "",`, pubkeyTests},
	{"a server with the certificate of a client", identityFile, "usage = x509.ExtKeyUsageServerAuth", "usage = x509.ExtKeyUsageAny", pubkeyTests},
	{"a client with the certificate of a server", identityFile, "certs[0], x509.ExtKeyUsageClientAuth", "certs[0], x509.ExtKeyUsageAny", pubkeyTests},
	{"a certificate for other uses than signatures", identityFile, "leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {", "false {", pubkeyTests},
	{"certificates expire by the clock of the host", identityFile, "CurrentTime: x.m.cfg.Time(),", "", pubkeyTests},
	{"the peer's certificates are roots", identityFile, "opts.Intermediates.AddCert(cert)", "opts.Roots.AddCert(cert)", pubkeyTests},
	{"Verify is not asked", identityFile, "	if x.m.cfg.Verify != nil {", "	if false {", pubkeyTests},
	{"a common name is a name", identityFile, "	return \"\"\n}\n\n// ask", "	return cert.Subject.CommonName\n}\n\n// ask", pubkeyTests},
	{"control characters of the peer in an error", identityFile, "	q := strconv.QuoteToASCII(text)", "	q := strconv.QuoteToASCII(\"\")[:1] + text + \"'\"", pubkeyTests},
	{"keys of any size in a chain", identityFile, "checkKey(cert.PublicKey)", "error(nil)", pubkeyTests},
	// Keys and messages.
	{"RSA keys of any size", signFile, "n < minRSA || n > maxRSA", "n < minRSA", pubkeyTests},
	{"short RSA keys", signFile, "n < minRSA || n > maxRSA", "n > maxRSA", pubkeyTests},
	{"any curve", signFile, "curveHash(key.Curve) == 0", "false", pubkeyTests},
	{"bytes after an authentication message", messageFile, "d.err == nil && d.off != len(d.msg)", "false", pubkeyTests},
	{"any version of an authentication message", messageFile, "|| msg[2] != version:", "|| false:", pubkeyTests},
	{"each certificate may have the size of all", messageFile, "		left -= len(cert)\n", "", pubkeyTests},
	{"two hosts with one key", pubkeyFile, "; twice {", "; twice && false {", pubkeyTests},
	{"a certificate of another key", pubkeyFile, "!ok || !key.Equal(public) {", "!ok || key.Equal(nil) {", pubkeyTests},
}
