package netfault_test

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/netfault"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// A connection carries bytes in both directions until it is cut at both ends.
func TestStreamIsCut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{}, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(ended)
				return
			}
			_, _ = io.Copy(c, c)
			_ = c.Close()
			ended <- struct{}{}
		}
	}()
	p := netfault.Stream(t, l.Addr().String(), 1, 1000)
	for n := range 10 {
		c, err := net.Dial("tcp", p.Addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(leak.Patience()))
		for sent := 0; ; sent++ {
			b := []byte{byte(sent)}
			_, err := c.Write(b)
			if err == nil {
				b[0]++
				_, err = io.ReadFull(c, b)
			}
			if err != nil {
				if sent > 1000 {
					t.Errorf("connection %d has carried %d bytes each way", n, sent)
				}
				break
			}
			if b[0] != byte(sent) {
				t.Fatalf("byte %d came back as %d", sent, b[0])
			}
		}
		_ = c.Close()
		<-ended
	}
	if p.Fired() < 9 {
		t.Errorf("%d connections were cut", p.Fired())
	}
	_ = l.Close()
	<-ended
}

// Of many datagrams some do not arrive, and some arrive twice.
func TestDatagramsAreLostAndRepeated(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counts := make(chan [256]int)
	go func() {
		var got [256]int
		for b := make([]byte, 8); ; {
			n, from, err := server.ReadFrom(b)
			if err != nil || n != 1 {
				counts <- got
				return
			}
			got[b[0]]++
			_, _ = server.WriteTo(b[:1], from)
		}
	}()
	p := netfault.Datagrams(t, server.LocalAddr().String(), 1, 0.5)
	c, err := net.Dial("udp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for n := range 100 {
		_, _ = c.Write([]byte{byte(n)})
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		if _, err := c.Read(make([]byte, 8)); err != nil {
			lost++
		}
	}
	time.Sleep(400 * time.Millisecond) // the longest delay is over
	_ = server.Close()
	never, twice := 0, 0
	for _, n := range <-counts {
		if n == 0 {
			never++
		}
		if n > 1 {
			twice++
		}
	}
	if never -= 156; never < 5 || twice < 5 || lost < 10 || p.Fired() < 50 {
		t.Errorf("of 100 datagrams %d never came, %d twice, %d had no answer at once, %d faults", never, twice, lost, p.Fired())
	}
	_ = c.Close()
}
