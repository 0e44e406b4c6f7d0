package setup

import (
	"context"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// preferring is a device that prefers an inline size.
type preferring struct {
	verbs.Device
	size int
}

func (d preferring) Attributes() verbs.DeviceAttributes {
	a := d.Device.Attributes()
	a.InlineSize = d.size
	return a
}

// inlinePair connects two devices in memory, with these inline sizes, and returns the client's end.
func inlinePair(t *testing.T, serverSize, clientSize int, server, client *rdmaio.Config) *rdmaio.Conn {
	t.Helper()
	n := mem.New(nil)
	open := func(name string, size int) verbs.Device {
		dev, err := n.Open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := dev.Close(); err != nil {
				t.Error(err)
			}
		})
		return preferring{dev, size}
	}
	s, err := rdmaio.Listen(context.Background(), open("server", serverSize), "there", rpctest.Quick(nil), server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c, err := rdmaio.Dial(context.Background(), open("client", clientSize), "there", client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// The inline sizes come from the device of each end by default, and a Config comes before them. In
// each direction the lesser of the two ends holds.
func TestInlineSizesComeFromTheDevice(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		serverSize, clientSize int
		server, client         rdmaio.Config
		send, recv             [3]int // of the client, by version
	}{
		{"no preference", 0, 0, rdmaio.Config{}, rdmaio.Config{}, [3]int{1: 4096, 2: 4096}, [3]int{1: 4096, 2: 4096}},
		{"both", 5120, 5120, rdmaio.Config{}, rdmaio.Config{}, [3]int{1: 5120, 2: 5120}, [3]int{1: 5120, 2: 5120}},
		{"the client only", 0, 5120, rdmaio.Config{}, rdmaio.Config{}, [3]int{1: 4096, 2: 4096}, [3]int{1: 4096, 2: 4096}},
		{"the server only", 5120, 0, rdmaio.Config{}, rdmaio.Config{}, [3]int{1: 4096, 2: 4096}, [3]int{1: 4096, 2: 4096}},
		{"small", 2048, 2048, rdmaio.Config{}, rdmaio.Config{}, [3]int{1: 2048, 2: 4096}, [3]int{1: 2048, 2: 4096}},
		{"too small", 100, 1, rdmaio.Config{}, rdmaio.Config{}, [3]int{1: 1024, 2: 4096}, [3]int{1: 1024, 2: 4096}},
		{"too large", 1 << 30, 1 << 30, rdmaio.Config{}, rdmaio.Config{}, [3]int{1: 256 << 10, 2: 256 << 10}, [3]int{1: 256 << 10, 2: 256 << 10}},
		{"no multiple of 1 KiB", 5500, 6000, rdmaio.Config{}, rdmaio.Config{}, [3]int{1: 5120, 2: 5120}, [3]int{1: 5120, 2: 5120}},
		{
			"the Config", 5120, 5120,
			rdmaio.Config{InlineSend: 16384, InlineRecv: 16384},
			rdmaio.Config{InlineSend: 8192, InlineRecv: 4096},
			[3]int{1: 8192, 2: 8192},
			[3]int{1: 4096, 2: 4096},
		},
		{"one of the Config", 5120, 5120, rdmaio.Config{InlineRecv: 4096}, rdmaio.Config{}, [3]int{1: 4096, 2: 4096}, [3]int{1: 5120, 2: 5120}},
	} {
		for version := 1; version <= 2; version++ {
			t.Run(fmt.Sprint(tt.name, " version ", version), func(t *testing.T) {
				server, client := tt.server, tt.client
				server.Versions, client.Versions = []int{version}, []int{version}
				c := inlinePair(t, tt.serverSize, tt.clientSize, &server, &client)
				if got := c.Terms(); got.InlineSend != tt.send[version] || got.InlineRecv != tt.recv[version] {
					t.Errorf("sends %d bytes inline and receives %d, want %d and %d", got.InlineSend, got.InlineRecv, tt.send[version], tt.recv[version])
				}
			})
		}
	}
}

// A block of 4 KiB and its headers go in one Send each way, without registered memory, with the
// defaults of every software provider and in both versions. With a peer that takes 4096 bytes the
// block goes by chunk, or in parts.
func TestBlocksComeInline(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		size := w.Client.Attributes().InlineSize
		if size != 5<<10 {
			t.Fatalf("the device prefers %d bytes", size)
		}
		for _, small := range []bool{false, true} {
			server := &rdmaio.Config{InlineSend: size, InlineRecv: size} // w has smaller sizes
			if small {
				server = &rdmaio.Config{InlineSend: 4096, InlineRecv: 4096}
			}
			f := &rpctest.File{T: t, Data: rdmaiotest.Pattern(4096, 1)}
			s := w.Serve(f, server)
			c := w.Dial(&rdmaio.Config{InlineSend: size, InlineRecv: size})
			if _, err := c.Call(context.Background(), rpctest.WriteCall(1, 0, rdmaiotest.Pattern(4096, 2))); err != nil {
				t.Fatal(err)
			}
			read := rpctest.PlainRead(2, 0, 4096)
			read.ReplyBuf = make([]byte, 5000)
			got, err := c.Call(context.Background(), read)
			if err != nil {
				t.Fatal(err)
			}
			if want := rdmaiotest.Pattern(4096, 2); string(got.Message[len(got.Message)-4096:]) != string(want) {
				t.Error("read other bytes than were written")
			}
			st := c.Stats()
			if inline := st.Registrations+st.PartsSent+st.PartsReceived == 0; inline == small {
				t.Errorf("a server of %d bytes: %d registrations, %d parts sent, %d received", server.InlineRecv, st.Registrations, st.PartsSent, st.PartsReceived)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Limits of the Config can take the preference away.
func TestLimitsTakeThePreferenceAway(t *testing.T) {
	dev, err := rdmatcp.Open(&rdmatcp.Config{Limits: &verbs.DeviceAttributes{InlineSize: -1}})
	if err != nil {
		t.Fatal(err)
	}
	if got := dev.Attributes().InlineSize; got != 0 {
		t.Errorf("the device prefers %d bytes", got)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
}
