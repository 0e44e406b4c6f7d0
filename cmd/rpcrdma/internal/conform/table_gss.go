package conform

import "fmt"

// gss returns a credential RPCSEC_GSS (RFC 2203 §5).
func gss(version, proc, seq, service uint32, handle string) opaqueAuth {
	b := words(nil, version, proc, seq, service)
	return opaqueAuth{flavour: authGSS, body: append(b, opaque([]byte(handle))...)}
}

// Control procedures and services of RFC 2203 §5.
const (
	gssData, gssInit, gssContinue, gssDestroy = 0, 1, 2, 3

	gssNone = 1
)

// gssCases are the cases of RPCSEC_GSS without a context (RFC 2203). A server without RPCSEC_GSS
// refuses the flavour. The sequence window needs a context, and so a mechanism with keys:
// it is not tested.
func gssCases() []Case {
	var list []Case
	add := func(name, section string, proc uint32, cred, verf opaqueAuth, args []byte, allowed ...string) {
		list = append(list, Case{Name: "gss/" + name, Section: section, On: all, steps: one(func(t *Target) call {
			c := t.call(proc, args)
			c.cred, c.verf = cred, verf
			return c
		}, allowed...)})
	}
	none, handle := opaqueAuth{}, "no such context"
	checksum := opaqueAuth{flavour: authGSS, body: make([]byte, 28)}
	refused := "AUTH_ERROR *"
	token := opaque([]byte("a wrong token"))
	// rpc_gss_init_res has a major status, which says that the token is wrong.
	add("init-garbage-token", "RFC 2203 §5.2.3", 0, gss(1, gssInit, 0, gssNone, ""), none, token, refused, "SUCCESS*")
	add("init-empty-token", "RFC 2203 §5.2.3", 0, gss(1, gssInit, 0, gssNone, ""), none, opaque(nil), refused, "SUCCESS*")
	add("init-without-token", "RFC 2203 §5.2.3", 0, gss(1, gssInit, 0, gssNone, ""), none, nil, refused, "GARBAGE_ARGS")
	add("init-token-longer-than-message", "RFC 2203 §5.2.3", 0, gss(1, gssInit, 0, gssNone, ""), none, words(nil, 1<<32-1), refused, "GARBAGE_ARGS")
	add("init-of-procedure-1", "RFC 2203 §5.2.2", 1, gss(1, gssInit, 0, gssNone, ""), none, token, refused, "PROC_UNAVAIL")
	add("continue-unknown", "RFC 2203 §5.2.3", 0, gss(1, gssContinue, 0, gssNone, handle), none, token, refused)
	add("destroy-unknown", "RFC 2203 §5.4", 0, gss(1, gssDestroy, 1, gssNone, handle), checksum, nil, refused)
	add("data-unknown-context", "RFC 2203 §5.3.3.3", 0, gss(1, gssData, 1, gssNone, handle), checksum, nil, refused)
	add("data-without-checksum", "RFC 2203 §5.3.1", 0, gss(1, gssData, 1, gssNone, handle), none, nil, refused)
	add("data-integrity", "RFC 2203 §5.3.2.2", 0, gss(1, gssData, 1, 2, handle), checksum, append(opaque(words(nil, 1)), opaque(make([]byte, 28))...), refused)
	add("data-privacy", "RFC 2203 §5.3.2.3", 0, gss(1, gssData, 1, 3, handle), checksum, opaque(make([]byte, 64)), refused)
	add("service-0", "RFC 2203 §5", 0, gss(1, gssData, 1, 0, handle), checksum, nil, refused)
	add("service-9", "RFC 2203 §5", 0, gss(1, gssData, 1, 9, handle), checksum, nil, refused)
	add("sequence-over-the-largest", "RFC 2203 §5.3.3.3", 0, gss(1, gssData, 1<<31, gssNone, handle), checksum, nil, refused)
	add("procedure-4", "RFC 2203 §5", 0, gss(1, 4, 1, gssNone, handle), checksum, nil, refused)
	for _, version := range []uint32{0, 2, 1<<32 - 1} {
		add(fmt.Sprintf("version-%d", version), "RFC 2203 §5.1", 0, gss(version, gssInit, 0, gssNone, ""), none, token, refused)
	}
	add("credential-empty", "RFC 2203 §5", 0, opaqueAuth{flavour: authGSS}, none, token, refused)
	cut := gss(1, gssInit, 0, gssNone, "")
	cut.body = cut.body[:12]
	add("credential-cut", "RFC 2203 §5", 0, cut, none, token, refused)
	long := gss(1, gssInit, 0, gssNone, "")
	copy(long.body[16:], words(nil, 1<<32-1))
	add("handle-longer-than-credential", "RFC 2203 §5", 0, long, none, token, refused)
	return list
}
