// Package security tests host authentication and TLS: which peers are served and with which
// identity, and how both ends notice an attacker between them.
package security
