package dissector_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/dissector"
	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

const root = "../../../../"

// units are the units of the captures: protocols of NFS, which Wireshark knows too, and test
// programs with every shape of XDR.
var units = map[string][]string{
	"nfs3":     {root + "spec/x/nfs3/nfs3.x"},
	"mount3":   {root + "spec/x/mount3/mount3.x"},
	"nlm4":     {root + "spec/x/nlm4/calls.x", root + "spec/x/nlm4/nlm4.x", root + "spec/x/nlm4/xnfs.x"},
	"rpcbind":  {root + "spec/x/rpcbind/rpcbind.x"},
	"notes":    {root + "examples/notes/notes.x"},
	"shapes":   {"testdata/shapes.x"},
	"programs": {root + "cmd/xdrgen/testdata/ok/programs.x"},
}

// order has the names of the units.
var order = []string{"nfs3", "mount3", "nlm4", "rpcbind", "notes", "shapes", "programs"}

// compiled is a unit and the script for it.
type compiled struct {
	name, script string
	unit         *ir.Unit
	binds        []*ir.Bind // of the unit and its imports
	procs        []*dynamic.Procedure
}

func compile(t testing.TB, name string, files ...string) *compiled {
	t.Helper()
	r, err := sema.Compile(sema.Options{Files: files, Include: []string{root + "spec/x"}})
	if err != nil || diag.HasErrors(r.Diags) {
		t.Fatalf("%s: %v %v", name, err, r.Diags)
	}
	binds := []*ir.Bind{r.Bind}
	for _, i := range r.Unit.Imports {
		if i.Bind != nil {
			binds = append(binds, i.Bind)
		}
	}
	text, err := dissector.Write(r.Unit, binds, dissector.Options{Name: name, Known: true, Sources: files})
	if err != nil {
		t.Fatal(err)
	}
	c := &compiled{name: name, script: filepath.Join(t.TempDir(), name+".lua"), unit: r.Unit, binds: binds}
	if err := os.WriteFile(c.script, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range dynamic.Procedures(r.Unit) {
		proc, err := dynamic.FindProcedure(r.Unit, p)
		if err != nil {
			t.Fatal(err)
		}
		c.procs = append(c.procs, proc)
	}
	return c
}

// exchange is a Call and its Reply, and what Wireshark is to show.
type exchange struct {
	what        string
	unit        string
	call, reply []byte
	args        shown
	results     shown
}

// words returns the XDR of unsigned integers.
func words(all ...uint32) (b []byte) {
	for _, w := range all {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// exchange makes a random Call of a procedure and its Reply.
func (c *compiled) exchange(t testing.TB, m *maker, p *dynamic.Procedure, xid uint32) exchange {
	t.Helper()
	e := exchange{what: fmt.Sprintf("XID %#x, %s", xid, p), unit: c.name}
	m.left = 30
	e.call = m.fields(words(xid, 0, 2, p.Program.Program.Number, p.Version.Number, p.Proc.Number, 0, 0, 0, 0), p.Proc.Args)
	e.reply = words(xid, 1, 0, 0, 0, 0)
	if m.left = 30; p.Proc.Result != nil {
		e.reply = m.value(e.reply, p.Proc.Result)
	}
	c.expect(t, &e, p)
	return e
}

// expect sets what Wireshark is to show, by what dump decodes.
func (c *compiled) expect(t testing.TB, e *exchange, p *dynamic.Procedure) {
	t.Helper()
	e.args, e.results = shown{}, shown{}
	prefix := c.name + "." + p.Version.Name + "." + p.Proc.Name
	at := e.call[40:]
	for _, f := range p.Proc.Args {
		v, err := dynamic.Decode(at, f.Type, dynamic.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", e.what, err)
		}
		e.args.value(c.name, prefix+".args."+f.Name, v)
		at = at[v.Length:]
	}
	if p.Proc.Result == nil {
		return
	}
	v, err := dynamic.DecodeAll(e.reply[24:], p.Proc.Result, dynamic.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", e.what, err)
	}
	e.results.value(c.name, prefix+".result", v)
}

// least is the number of bytes that Wireshark must see to find a message: in the first fragment,
// and before the end of a TCP segment.
const least = 48

// record returns a message with its record marks, in random fragments.
func record(m *maker, message []byte) (b []byte) {
	for {
		n := len(message)
		if m.IntN(3) == 0 && n > least {
			n = least + m.IntN(n-least)
		}
		last := uint32(0)
		if n == len(message) {
			last = 1 << 31
		}
		b = append(binary.BigEndian.AppendUint32(b, last|uint32(n)), message[:n]...)
		if message = message[n:]; len(message) == 0 {
			return b
		}
	}
}

// overTCP writes exchanges as TCP segments: several messages in a segment, and messages in several
// segments.
func overTCP(t testing.TB, m *maker, all []exchange) string {
	t.Helper()
	var out bytes.Buffer
	file := pcapng.NewFile(&out, 0)
	conns := map[string]*pcapng.Connection{}
	now := time.Unix(1000, 0)
	for len(all) > 0 {
		n := min(m.IntN(4)+1, len(all))
		for n > 1 && all[n-1].unit != all[0].unit {
			n--
		}
		conn := conns[all[0].unit]
		if conn == nil {
			conn = file.Connection(all[0].unit)
			conns[all[0].unit] = conn
			// Wireshark decides by the first segment that a connection has RPC.
			conn.Segment(true, now, append(words(1<<31|uint32(len(all[0].call))), all[0].call...))
			conn.Segment(false, now, append(words(1<<31|uint32(len(all[0].reply))), all[0].reply...))
			all = all[1:]
			continue
		}
		var calls, replies []byte
		for _, e := range all[:n] {
			calls = append(calls, record(m, e.call)...)
			replies = append(replies, record(m, e.reply)...)
		}
		all = all[n:]
		for i, stream := range [][]byte{calls, replies} {
			for k := len(stream); len(stream) > 0; k = len(stream) {
				if first := 4 + int(binary.BigEndian.Uint32(stream)&(1<<31-1)); m.IntN(3) == 0 && first > least {
					k = least + m.IntN(first-least)
				}
				now = now.Add(time.Millisecond)
				conn.Segment(i == 0, now, stream[:k])
				if k < len(stream) {
					conn.Segment(i == 0, now, stream[k:])
				}
				stream = nil
			}
		}
	}
	return write(t, out.Bytes())
}

func write(t testing.TB, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "all.pcapng")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// exchanges compiles the units and makes exchanges of each, and returns the scripts too.
func exchanges(t testing.TB, m *maker, each int) (all []exchange, scripts []string) {
	t.Helper()
	xid := uint32(0x1000)
	for _, name := range order {
		c := compile(t, name, units[name]...)
		scripts = append(scripts, c.script)
		for i := range each {
			xid++
			all = append(all, c.exchange(t, m, c.procs[i%len(c.procs)], xid))
		}
	}
	return all, scripts
}

// check compares the parts that Wireshark shows with the exchanges, by XID and direction, and
// returns the number of messages and values.
func check(t *testing.T, parts []tshark.Part, all []exchange) (messages, values int) {
	t.Helper()
	type key struct {
		unit, xid, direction string
	}
	found := map[key][]tshark.Part{}
	for _, p := range parts {
		if units[p.Proto] != nil {
			k := key{p.Proto, p.One(p.Proto + ".rpc.xid"), p.One(p.Proto + ".rpc.direction")}
			found[k] = append(found[k], p)
		}
	}
	for _, e := range all {
		xid := fmt.Sprintf("0x%08x", binary.BigEndian.Uint32(e.call))
		calls, replies := found[key{e.unit, xid, "0"}], found[key{e.unit, xid, "1"}]
		if len(calls) != 1 || len(replies) != 1 {
			t.Errorf("%s: %d Calls and %d Replies, want one each", e.what, len(calls), len(replies))
			continue
		}
		messages += 2
		values += compare(t, e.what+" Call", calls[0].Fields, e.args, e.unit)
		values += compare(t, e.what+" Reply", replies[0].Fields, e.results, e.unit)
		call, reply := calls[0].One(e.unit+".rpc.reply"), replies[0].One(e.unit+".rpc.call")
		if call != fmt.Sprint(replies[0].Packet) || reply != fmt.Sprint(calls[0].Packet) || replies[0].One(e.unit+".rpc.time") == "" {
			t.Errorf("%s: the Call in %d has its Reply in %s, the Reply in %d its Call in %s", e.what, calls[0].Packet, call, replies[0].Packet, reply)
		}
	}
	return messages, values
}

// TestFirstOfSeveralNames checks that a number with several names in an enum has the first, as in
// dump.
func TestFirstOfSeveralNames(t *testing.T) {
	name := filepath.Join(t.TempDir(), "names.x")
	if err := os.WriteFile(name, []byte("enum e { FIRST = 1, SECOND = 1 };\nprogram P { version V { e GET(void) = 1; } = 1; } = 0x20000997;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(compile(t, "names", name).script)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(`names={[1]="FIRST",}`)) {
		t.Error("the number 1 is not FIRST alone")
	}
}

// TestShowsWhatDumpShows checks that Wireshark shows the fields of dump, by name and value, for
// seven protocols over TCP, in fragments and several to a segment.
func TestShowsWhatDumpShows(t *testing.T) {
	witness.Program(t, "tshark")
	m := &maker{Rand: rand.New(rand.NewPCG(1, 2))}
	all, scripts := exchanges(t, m, 30)
	messages, values := check(t, tshark.Parts(t, tshark.Input{File: overTCP(t, m, all), Scripts: scripts, Args: []string{"-Y", "frame"}}), all)
	t.Logf("%d messages, %d values", messages, values)
	if messages < 200 || values < 1000 {
		t.Errorf("%d messages and %d values are few", messages, values)
	}
}
