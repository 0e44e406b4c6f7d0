package oncrpc

import "encoding/binary"

// CheckCred returns AUTH_BADCRED if a credential is malformed: AUTH_NONE with a body, or AUTH_SYS
// whose body is not as in RFC 5531 appendix A. It returns nil for all other flavours, whose bodies
// their own handlers check. It allocates nothing for a credential that is well formed.
func CheckCred(cred *OpaqueAuth) *ReplyError {
	switch {
	case cred.Flavor == AuthNone && len(cred.Body) > 0,
		cred.Flavor == AuthSys && !isAuthSys(cred.Body):
		return Refused(AuthStatBadCred) // RFC 5531 §9
	}
	return nil
}

// Bounds of AUTH_SYS (RFC 5531 appendix A).
const (
	maxMachineName = 255
	maxGroups      = 16
)

// isAuthSys reports whether b is the body of an AUTH_SYS credential: a stamp, a name, a user, a
// group and a list of groups.
func isAuthSys(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	name := binary.BigEndian.Uint32(b[4:])
	if name > maxMachineName {
		return false
	}
	fixed := 8 + int(name+3)&^3 + 12
	if len(b) < fixed {
		return false
	}
	groups := binary.BigEndian.Uint32(b[fixed-4:])
	return groups <= maxGroups && len(b) == fixed+4*int(groups)
}
