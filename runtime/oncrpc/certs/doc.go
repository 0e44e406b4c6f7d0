// Package certs keeps a TLS configuration current with the files of its certificates, so that a
// process that lives for months takes a renewed certificate without a restart.
//
//	files, err := certs.Open(&certs.Config{Cert: "cert.pem", Key: "key.pem", CA: "ca.pem"})
//	...
//	secure := &tcp.Config{TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: files.TLS()}}
//	server, err := tcp.Listen(ctx, ":2049", handler, secure)
//
// The configuration is for the carrier tcp, the providers of RDMA over TCP, and everything else
// that takes a *tls.Config. The next handshake after Config.Interval reads the files again, and the
// program calls [Files.Reload] for a look at once, for example at SIGHUP. Connections keep the
// certificates of their handshakes.
//
// # Changes
//
// Certificate and key are replaced together, and the authorities by themselves, each when all of it
// is valid: the key must fit, and each PEM block must have its end. A file that is missing, half
// written or wrong changes nothing, is logged once, and is read again at the next look. So it does
// not matter whether the writer renames or overwrites files, and in which order. A writer that
// stops between two whole certificates of a chain has written a valid file, which is used: rename
// files into place to exclude that.
//
// A certificate that has expired is used: the peer refuses it.
//
// # Roles
//
//   - A server uses the present certificate and the present authorities of clients in each
//     handshake. A client resumes a session only while its certificate leads to one of them.
//   - A client sends the present certificate when the server asks for it.
//   - The authorities of servers, RootCAs, are read by [Files.TLS]: crypto/tls has no function that
//     chooses them. A client that lives long calls TLS for each connection, as the example of
//     Files.TLS does.
package certs
