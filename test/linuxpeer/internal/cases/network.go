package cases

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"strings"
)

// networkCases look at the path between host and guest.
func networkCases() []Case {
	return []Case{
		{Name: "network/knfsd-tcp", Run: knfsdTCP},
		{Name: "network/host-listener", Run: hostListener},
		{Name: "network/closed-port", Run: closedPort},
	}
}

// knfsdTCP calls NULL of NFS versions 3 and 4 over TCP with record marks (RFC 5531 §11).
func knfsdTCP(t *T) {
	conn := t.Dial(2049)
	for xid, version := range []uint32{3, 4} {
		call := nullCall(uint32(xid)+1, 100003, version)
		record := binary.BigEndian.AppendUint32(nil, 1<<31|uint32(len(call)))
		_, err := conn.Write(append(record, call...))
		t.Must(err)
		got := make([]byte, 28)
		_, err = io.ReadFull(conn, got)
		t.Must(err)
		want := append(binary.BigEndian.AppendUint32(nil, 1<<31|24), nullReply(uint32(xid)+1)...)
		if !bytes.Equal(got, want) {
			t.Errorf("NULL of NFS version %d: %x, expected %x", version, got, want)
		}
	}
	t.Say("NULL of NFS versions 3 and 4")
}

// nullCall returns a Call of procedure 0 without authentication (RFC 5531 §9).
func nullCall(xid, program, version uint32) []byte {
	var b []byte
	for _, v := range []uint32{xid, 0, 2, program, version, 0, 0, 0, 0, 0} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// nullReply returns the successful Reply to such a Call.
func nullReply(xid uint32) []byte {
	return append(binary.BigEndian.AppendUint32(nil, xid), unhex("00000001 00000000 00000000 00000000 00000000")...)
}

// hostListener lets the guest connect to a listener of the host.
func hostListener(t *T) {
	ln, addr := t.Listen()
	host, port, err := net.SplitHostPort(addr)
	t.Must(err)
	got := make(chan string, 1)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			got <- err.Error()
			return
		}
		defer conn.Close()
		line := make([]byte, 6)
		_, _ = io.ReadFull(conn, line)
		_, _ = conn.Write([]byte("from the host\n"))
		got <- string(line)
	}()
	if out := t.Shell("echo hello | nc " + host + " " + port); out != "from the host" {
		t.Errorf("the guest received %q, expected the host's line", out)
	}
	if line := <-got; line != "hello\n" {
		t.Errorf("the host received %q, expected the guest's line", line)
	}
	t.Say("the guest reaches a listener at %s", host)
}

// closedPort shows why AwaitListener exists.
func closedPort(t *T) {
	conn := t.Dial(7999)
	n, err := conn.Read(make([]byte, 1))
	if n != 0 || err == nil {
		t.Fatalf("a connection to a port without a listener: %d bytes, %v", n, err)
	}
	t.Say("a forward to a closed port connects, then ends")
}

// unhex returns the bytes of hexadecimal digits; blanks and bars are ignored.
func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "", "\n", "", "\t", "").Replace(s))
	if err != nil {
		panic("cases: " + err.Error())
	}
	return b
}
