package conform

import (
	"bytes"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program"
)

// sys returns a credential AUTH_SYS (RFC 5531 appendix A).
func sys(machine int, gids ...uint32) opaqueAuth {
	b := words(nil, 1)
	b = append(b, opaque(bytes.Repeat([]byte("m"), machine))...)
	b = words(b, 1000, 1000, uint32(len(gids)))
	return opaqueAuth{flavour: authSys, body: words(b, gids...)}
}

// asked returns a call with a credential and a verifier: of the test program's procedure for
// numbers, or of procedure 0.
func asked(t *Target, cred, verf opaqueAuth) call {
	c := t.null()
	if t.echo() {
		c.proc, c.args = program.ProcInt, words(nil, 7)
	}
	c.cred, c.verf = cred, verf
	return c
}

// badCred is the answer to a credential that cannot be decoded.
const badCred = "AUTH_ERROR AUTH_BADCRED"

// authCases are the cases of credentials and verifiers (RFC 5531 §8.2 and appendix A).
func authCases() []Case {
	sixteen := make([]uint32, 16)
	cut := sys(7, 1, 2)
	cut.body = cut.body[:len(cut.body)-4]
	dirty := sys(7)
	dirty.body[15] = 0xff // padding after the machine's name
	list := []Case{}
	add := func(name, section string, cred, verf opaqueAuth, allowed ...string) {
		list = append(list, Case{Name: "auth/" + name, Section: section, On: all, steps: func(t *Target) []step {
			answers := allowed
			// RFC 5531 §12.1: procedure 0 needs no credential.
			if !t.echo() && allowed[0] == badCred {
				answers = []string{badCred, "SUCCESS"}
			}
			return one(func(t *Target) call { return asked(t, cred, verf) }, answers...)(t)
		}})
	}
	none, bad := opaqueAuth{}, []string{badCred}
	unread := []string{"AUTH_ERROR *", "GARBAGE_ARGS", noReply, closed}
	const served = "SUCCESS*"
	add("sys", "RFC 5531 appendix A", sys(7, 1, 2), none, served)
	add("sys-machine-empty", "RFC 5531 appendix A", sys(0), none, served)
	add("sys-machine-255", "RFC 5531 appendix A", sys(255), none, served)
	add("sys-gids-16", "RFC 5531 appendix A", sys(1, sixteen...), none, served)
	add("sys-machine-256", "RFC 5531 appendix A", sys(256), none, bad...)
	add("sys-gids-17", "RFC 5531 appendix A", sys(1, append(sixteen, 1)...), none, bad...)
	add("sys-empty", "RFC 5531 appendix A", opaqueAuth{flavour: authSys}, none, bad...)
	add("sys-4-bytes", "RFC 5531 appendix A", opaqueAuth{flavour: authSys, body: []byte("zzzz")}, none, bad...)
	add("sys-cut", "RFC 5531 appendix A", cut, none, bad...)
	add("sys-padding-not-zero", "RFC 4506 §3", dirty, none, served, badCred)
	add("none-with-body", "RFC 5531 §10.1", opaqueAuth{body: []byte("zzzz")}, none, served, badCred)
	add("body-400", "RFC 5531 §8.2", opaqueAuth{body: make([]byte, maxAuth)}, none, served, badCred)
	add("body-401", "RFC 5531 §8.2", opaqueAuth{body: make([]byte, maxAuth+1)}, none, unread...)
	add("body-longer-than-message", "RFC 5531 §8.2", opaqueAuth{claim: 396}, none, unread...)
	add("body-4-gib", "RFC 5531 §8.2", opaqueAuth{claim: 1<<32 - 1}, none, unread...)
	add("body-2-gib", "RFC 5531 §8.2", opaqueAuth{claim: 1 << 31}, none, unread...)
	add("flavour-42", "RFC 5531 §8.2", opaqueAuth{flavour: 42}, none, served, "AUTH_ERROR *")
	add("flavour-largest", "RFC 5531 §8.2", opaqueAuth{flavour: 1<<32 - 1}, none, served, "AUTH_ERROR *")
	add("short-unknown", "RFC 5531 appendix A", opaqueAuth{flavour: 2, body: []byte("abcdefgh")}, none, served, "AUTH_ERROR *")
	add("verifier-401", "RFC 5531 §8.2", none, opaqueAuth{body: make([]byte, maxAuth+1)}, unread...)
	add("verifier-longer-than-message", "RFC 5531 §8.2", none, opaqueAuth{claim: 396}, unread...)
	add("verifier-4-gib", "RFC 5531 §8.2", none, opaqueAuth{claim: 1<<32 - 1}, unread...)
	return list
}
