package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// maxGroups is the largest number of supplementary groups (RFC 5531 appendix A).
const maxGroups = 16

// credential is the value of -cred: none, sys, or sys:UID:GID[,GID...].
type credential struct{ oncrpc.OpaqueAuth }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *credential) UnmarshalText(b []byte) error {
	flavour, ids, given := strings.Cut(string(b), ":")
	switch {
	case flavour == "none" && !given:
		c.OpaqueAuth = oncrpc.None()
		return nil
	case flavour != "sys":
		return fmt.Errorf("found %q, expected none, sys, or sys:UID:GID[,GID...], such as sys:1000:100,4,24", b)
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("AUTH_SYS has the name of this machine: %w", err)
	}
	sys := oncrpc.AuthSysParms{MachineName: []byte(host[:min(len(host), 255)])}
	if given {
		err = setIDs(&sys, ids)
	} else {
		err = ownIDs(&sys)
	}
	if err == nil {
		c.OpaqueAuth, err = sys.Auth()
	}
	return err
}

// setIDs sets the user and the groups from UID:GID[,GID...].
func setIDs(sys *oncrpc.AuthSysParms, text string) error {
	user, groups, ok := strings.Cut(text, ":")
	if !ok {
		return fmt.Errorf("found %q after sys:, expected UID:GID[,GID...]", text)
	}
	var ids []uint32
	for _, word := range append([]string{user}, strings.Split(groups, ",")...) {
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			return fmt.Errorf("found %q, expected the number of a user or group, 0 to 4294967295", word)
		}
		ids = append(ids, uint32(n))
	}
	sys.UID, sys.GID, sys.GIDs = ids[0], ids[1], ids[2:]
	if n := len(sys.GIDs); n > maxGroups {
		return fmt.Errorf("found %d groups after the first, expected at most %d (RFC 5531 appendix A)", n, maxGroups)
	}
	return nil
}

// ownIDs sets the user and the groups of this process. Only the first 16 groups fit.
func ownIDs(sys *oncrpc.AuthSysParms) error {
	if os.Getuid() < 0 {
		return errors.New("this system has no user numbers: give them, as in sys:1000:100")
	}
	sys.UID, sys.GID = uint32(os.Getuid()), uint32(os.Getgid())
	groups, err := os.Getgroups()
	for _, g := range groups {
		if len(sys.GIDs) < maxGroups && uint32(g) != sys.GID {
			sys.GIDs = append(sys.GIDs, uint32(g))
		}
	}
	return err
}
