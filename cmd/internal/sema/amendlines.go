package sema

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// inheritLines adds the lines of the included units' sidecars that are about programs and structs
// that this unit copies.
func (u *unit) inheritLines() {
	if len(u.amended.of) == 0 {
		return
	}
	in := inheritance{u: u, have: map[string]bool{}}
	b := u.side.bind
	for _, x := range b.DDP {
		in.have[ddpKey(x)] = true
	}
	for _, x := range b.Once {
		in.have[procKey("once", x)] = true
	}
	for _, x := range b.NonBlocking {
		in.have[procKey("nonblocking", x)] = true
	}
	for _, x := range b.Replies {
		in.have[procKey("reply", x.ProcName)] = true
	}
	for _, x := range b.Numbers {
		in.have["number "+x.Struct+"."+x.Field] = true
	}
	for _, x := range b.Messages {
		in.have["message "+x.Struct] = true
	}
	for _, i := range u.inOrder() {
		if i.side.bind != nil {
			in.from = i
			in.take(b, i.side.bind)
		}
	}
}

// inheritance is the state of inheritLines.
type inheritance struct {
	u    *unit
	from *unit // whose lines are read
	have map[string]bool
}

// wants reports whether a line about a name is to be taken: the unit has a copy of what the name
// means there, and no such line.
func (in *inheritance) wants(name, key string) bool {
	s := in.u.scope.names[name]
	if s == nil || s.decl.Of == nil || in.have[key] {
		return false
	}
	if there := in.from.lookup(name); there == nil || there.decl.Original() != s.decl.Original() {
		return false
	}
	in.have[key] = true
	return true
}

func (in *inheritance) take(b, from *ir.Bind) {
	for _, x := range from.DDP {
		if in.wants(x.Program, ddpKey(x)) {
			x.Owner, x.Field = nil, nil
			b.DDP = append(b.DDP, x)
		}
	}
	for _, x := range from.Once {
		if in.wants(x.Program, procKey("once", x)) {
			b.Once = append(b.Once, x)
		}
	}
	for _, x := range from.NonBlocking {
		if in.wants(x.Program, procKey("nonblocking", x)) {
			b.NonBlocking = append(b.NonBlocking, x)
		}
	}
	for _, x := range from.Replies {
		if in.wants(x.Program, procKey("reply", x.ProcName)) {
			b.Replies = append(b.Replies, x)
		}
	}
	for _, x := range from.Numbers {
		if in.wants(x.Struct, "number "+x.Struct+"."+x.Field) {
			b.Numbers = append(b.Numbers, x)
		}
	}
	for _, x := range from.Messages {
		if in.wants(x.Struct, "message "+x.Struct) {
			b.Messages = append(b.Messages, x)
		}
	}
}

func procKey(word string, p ir.ProcName) string {
	return strings.Join([]string{word, p.Program, p.Version, p.Proc}, " ")
}

func ddpKey(x ir.DDPBinding) string {
	side := "args"
	if x.Reply {
		side = "result"
	}
	return procKey("ddp", x.ProcName) + " " + side + " " + strings.Join(x.Path, ".")
}
