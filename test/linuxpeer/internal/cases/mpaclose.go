package cases

import (
	"context"
	"time"
)

// mpaClose closes connections of the peer-to-peer model between the reply and the first FPDU, the
// initiator's RTR indication, until the kernel's iw_cm stops with a BUG, because it considers the
// close of a connection that is not established yet an impossible state. The guest is useless
// afterwards.
func mpaClose(t *T) {
	const most = 50
	finding := Finding{
		What:     "MPA peer-to-peer, connection closed by the initiator instead of an RTR indication",
		Rule:     "RFC 6581 §9.2",
		Expected: "the responder gives the connection up",
		Saw:      "as expected",
	}
	for range most {
		conn := t.Dial(nfsRDMA)
		_, err := conn.Write(append([]byte(mpaRequestKey), unhex("10 02 0004 c010 c010")...))
		t.Must(err)
		t.Must(conn.SetReadDeadline(time.Now().Add(3 * time.Second)))
		// No reply comes if the connection before stopped iw_cm.
		_, err = conn.Read(make([]byte, 1))
		conn.Close()
		if err == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := t.Guest().Console.Wait(ctx, t.mark, "kernel BUG at drivers/infiniband/core/iwcm.c"); err != nil {
			t.Fatalf("no reply to an MPA request, and no BUG in the kernel's log: %v", err)
		}
		finding.Saw = "after a few of them, a BUG in iw_cm: the kernel answers no MPA request until it is restarted"
		finding.Deviation = true
		break
	}
	t.Report(finding)
	t.Say("%s", finding.Saw)
}
