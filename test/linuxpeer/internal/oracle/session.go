package oracle

import (
	"context"
	"errors"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Export is a directory of a server: the way to it, and its handle.
type Export struct {
	Carrier oncrpc.Carrier // belongs to the caller
	Root    nfs3.Handle
}

// Server is a server that exports an empty directory twice: Plain gives user 0 all rights, and
// Squashed maps it to user and group 65534. Everyone may change the directory.
type Server struct{ Plain, Squashed Export }

// user is a caller. Most objects belong to 1000:1000.
type user struct {
	name     string
	uid, gid uint32
	gids     []uint32
	none     bool // without AUTH_SYS
	squashed bool // by the export that maps root
}

var (
	owner    = &user{name: "owner", uid: 1000, gid: 1000, gids: []uint32{7}}
	outsider = &user{name: "owner outside the group", uid: 1000, gid: 9}
	member   = &user{name: "member", uid: 2000, gid: 2000, gids: []uint32{5, 1000}}
	group    = &user{name: "group", uid: 2000, gid: 1000}
	other    = &user{name: "other", uid: 3000, gid: 3000}
	root     = &user{name: "root"}
	squashed = &user{name: "squashed root", gids: []uint32{0, 1000}, squashed: true}
	nobody   = &user{name: "AUTH_NONE", none: true}
	noUser   = &user{name: "user 2^32-1", uid: 1<<32 - 1, gid: 1000}
	noGroup  = &user{name: "group 2^32-1", uid: 2000, gid: 1<<32 - 1, gids: []uint32{1<<32 - 1}}
	wheel    = &user{name: "member of group 0", uid: 2000, gid: 2000, gids: []uint32{0}, squashed: true}
)

func everyone() []*user {
	return []*user{owner, outsider, member, group, other, root, squashed, nobody}
}

// strange returns users that servers map to others, in part.
func strange() []*user { return []*user{noUser, noGroup, wheel, squashed, nobody} }

// session has clients of a server, one for each user.
type session struct {
	server  *Server
	clients map[*user]*nfs3rpc.Client
}

func newSession(s *Server) (*session, error) {
	all := &session{server: s, clients: map[*user]*nfs3rpc.Client{}}
	for _, u := range append(everyone(), strange()...) {
		var cfg rpc.ClientConfig
		if !u.none {
			var err error
			parms := oncrpc.AuthSysParms{MachineName: []byte("oracle"), UID: u.uid, GID: u.gid, GIDs: u.gids}
			if cfg.Cred, err = parms.Auth(); err != nil {
				return nil, err
			}
		}
		over := s.Plain.Carrier
		if u.squashed {
			over = s.Squashed.Carrier
		}
		all.clients[u] = nfs3rpc.NewClient(over, &cfg)
	}
	return all, nil
}

// object is a file, with its handles in both exports. The squashed export's handle is only there in
// scenes whose users need it.
type object struct{ plain, squashed nfs3.Handle }

// of returns the handle that a user has.
func (o object) of(u *user) nfs3.Handle {
	if u.squashed {
		return o.squashed
	}
	return o.plain
}

// under returns the arguments that name an entry of a directory.
func under(dir nfs3.Handle, name string) nfs3.DirOpArgs {
	return nfs3.DirOpArgs{Dir: dir, Name: nfs3.Filename(name)}
}

// text returns the status of a reply, or the reason why it is missing.
func text(code nfs3.Status, err error) string {
	var refused *oncrpc.ReplyError
	switch {
	case err == nil:
		return code.String()
	case !errors.As(err, &refused) || refused.Reply != oncrpc.Accepted:
		return "error: " + err.Error()
	}
	return refused.Accept.String()
}

// Answer is the answer to a question.
type Answer struct{ Question, Text string }

// scene is a directory of a server in which questions are asked.
type scene struct {
	*session
	ctx     context.Context
	name    string // of the group
	top     object // everyone may change it
	both    bool   // objects get handles of both exports
	answers []Answer
}

// broken is an error that makes further questions of a scene useless.
type broken struct{ error }

func (s *scene) must(err error) {
	if err != nil {
		panic(broken{err})
	}
}

// ask records the answer to a question.
func (s *scene) ask(question, answer string) {
	s.answers = append(s.answers, Answer{s.name + "/" + question, answer})
}
