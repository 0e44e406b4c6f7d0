package rdmaio

import (
	"errors"
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// ForgetVersion makes the next connection begin with the first of Config.Versions again, as if
// ClientConfig.VersionMemory had passed. Call it, for example, when the server was updated. The
// connection that the Client has now keeps its version.
func (c *Client) ForgetVersion() { c.versions.forget() }

// learn makes further connections begin with a version, because of an error.
func (c *Client) learn(version int, why error) {
	if !c.versions.learn(version) {
		return
	}
	c.versions.changes.Add(1)
	c.log.Info("rdmaio: connections begin with another version", "peer", c.addr, "version", version, "for", c.cfg.VersionMemory, "reason", why)
}

// learnFrom learns from a connection that ended, or on which a Call of ClientConfig.Connected
// failed. A server that refused version 2 and then broke the connection may do so each time.
func (c *Client) learnFrom(conn *Conn, err error) {
	switch {
	case wantsVersion2(err):
		c.learn(v2.Number, err)
	case conn.Err() != nil && conn.set.Versions[0] == v2.Number && conn.Terms().Version == v1.Number && conn.Stats().Replies == 0:
		c.learn(v1.Number, err)
	}
}

// wantsVersion2 reports whether the peer refused a Call of version 1 and has version 2.
func wantsVersion2(err error) bool {
	var e *PeerError
	return errors.As(err, &e) && e.Version == v1.Number && e.Code == PeerErrVers && e.Low <= v2.Number && e.High >= v2.Number
}

// turns implements source: if the server has version 2 only, the Client drops its connections of
// version 1, and makes the next one with version 2. Calls in progress on them are refused, too.
func (c *Client) turns(conn *Conn, err error) bool {
	if !wantsVersion2(err) {
		return false
	}
	c.learn(v2.Number, err)
	if c.versions.begin() != v2.Number {
		return false
	}
	dropped := c.pool.Discard(func(conn *Conn) bool { return conn.Terms().Version == v1.Number })
	if !slices.Contains(dropped, conn) {
		dropped = append(dropped, conn)
	}
	for _, conn := range dropped {
		conn.end()
	}
	return true
}
