package main

const certsDir = "runtime/oncrpc/certs/"

var certsTests = []string{"runtime/oncrpc/certs"}

// certsMutants are in the TLS configuration that follows its files.
var certsMutants = []mutant{
	{"certificates are read before the time", certsDir + "certs.go", "time.Since(f.start) < time.Duration(f.next.Load())", "false", certsTests},
	{"a negative interval looks at certificates", certsDir + "certs.go", "f.cfg.Interval < 0 || ", "", certsTests},
	{"Reload of certificates does not postpone a look", certsDir + "certs.go", "	f.current.Store(m)\n	f.postpone()\n	f.failed", "	f.current.Store(m)\n	f.failed", certsTests},
	{"a certificate is used with another key", certsDir + "files.go", "	case strings.Contains(err.Error(), \"does not match\"):\n", "	case strings.Contains(err.Error(), \"does not match\"):\n		return &pair, nil\n", certsTests},
	{"half a chain is used", certsDir + "files.go", "			if !whole(f.content) {\n", "			if false {\n", certsTests},
	{"half an authority is left out", certsDir + "files.go", "	if !whole(f.content) {\n		return nil, nil,", "	if false {\n		return nil, nil,", certsTests},
	{"a fault of a certificate is logged at each look", certsDir + "certs.go", "	if text == *last || f.current.Load() == nil {\n", "	if text == \"\" && *last == \"\" || f.current.Load() == nil {\n", certsTests},
	{"a fault of the pair keeps the authorities", certsDir + "certs.go", "	poolErr := f.buildPool(&m)\n", "	poolErr := pairErr\n	if pairErr == nil {\n		poolErr = f.buildPool(&m)\n	}\n", certsTests},
	{"a handshake waits for a pipe", certsDir + "files.go", "	if err == nil && !first && !regular {\n", "	if false {\n", certsTests},
	{"a pipe is read twice", certsDir + "files.go", "	f.once = !regular\n", "	_ = regular\n", certsTests},
	{"a client sends an unwanted certificate", certsDir + "certs.go", "	if asked.SupportsCertificate(pair) != nil {\n", "	if false {\n", certsTests},
	{"a server with authorities asks for no certificate", certsDir + "certs.go", "				c.ClientAuth = tls.RequireAndVerifyClientCert\n", "", certsTests},
	{"serve ignores SIGHUP", "cmd/rpcrdma/serve.go", "		defer f.certs.ReloadAt()()\n", "", []string{"cmd/rpcrdma"}},
}
