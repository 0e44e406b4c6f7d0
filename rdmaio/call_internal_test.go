package rdmaio

import "testing"

// A Client makes no more Calls on a connection than Config.Credits allows, although the peer grants
// more, and no more than the peer grants.
func TestUsableCreditsKeepToConfigAndPeer(t *testing.T) {
	for _, tt := range []struct{ config, peer, want int }{{1, 9, 1}, {100, 9, 9}, {9, 9, 9}, {5, 0, 0}} {
		conn, script := scriptedConn(t, 1, nil)
		conn.set.calls, script.credits = tt.config, tt.peer
		refresh(conn)
		if got := conn.caller.usableCredits(); got != tt.want {
			t.Errorf("Config.Credits %d, and %d of the peer: %d are usable, want %d", tt.config, tt.peer, got, tt.want)
		}
	}
}
