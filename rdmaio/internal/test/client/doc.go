// Package client tests rdmaio.Client: it connects when a Call needs a connection, waits between
// attempts, replaces connections that are lost or stuck, sends Calls again with their XIDs, and
// shares Calls among several connections. The suite that all carriers pass runs here, too.
package client
