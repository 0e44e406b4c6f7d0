package gogen

import (
	"strings"
	"testing"
)

func TestCamel(t *testing.T) {
	for in, want := range map[string]string{
		"nfs_fh4":           "NFSFh4",
		"NFS3_FHSIZE":       "NFS3Fhsize",
		"NFS4ERR_IO":        "NFS4ErrIo",
		"ACCESS4args":       "Access4Args",
		"READDIRPLUS3resok": "Readdirplus3Resok",
		"utf8str_cs":        "UTF8StrCs",
		"EXCLUSIVE4_1":      "Exclusive4_1",
		"clientid4":         "Clientid4",
		"virLXCMonitor":     "VirLXCMonitor",
		"rdma_xid":          "RDMAXID",
		"ok":                "OK",
		"__x":               "X",
		"x2y3":              "X2Y3",
		"2nd":               "X2Nd",
		"_":                 "X",
	} {
		if got := camel(in); got != want {
			t.Errorf("camel(%s) = %s, want %s", in, got, want)
		}
	}
}

// TestOwn checks the words that follow the owner's name.
func TestOwn(t *testing.T) {
	for name, c := range map[string]struct{ owner, names, want string }{
		"the owner's first word":    {"auth_stat", "AUTH_OK AUTH_TOOWEAK RPCSEC_GSS_CTXPROBLEM", "OK Tooweak RpcsecGSSCtxproblem"},
		"shared by all":             {"open_claim_type4", "CLAIM_NULL CLAIM_FH", "Null Fh"},
		"shared up to a digit":      {"nfsstat4", "NFS4_OK NFS4ERR_PERM", "OK ErrPerm"},
		"not part of a word":        {"nfsstat", "NFS_OK NFSERR_PERM", "NFSOK NfserrPerm"},
		"the owner in humps":        {"virNetMessageType", "VIR_NET_CALL OTHER", "Call Other"},
		"no hump ends there":        {"virtue", "VIR_X OTHER", "VirX Other"},
		"one alone":                 {"lease", "READ_LEASE", "ReadLease"},
		"one alone, as the owner":   {"lease", "LEASE_READ", "Read"},
		"one is the shared word":    {"get", "GET GET_NEXT", "Get Next"},
		"a word is left to each":    {"which", "A_B A_B_C", "B BC"},
		"a letter is left to each":  {"version", "RPC_2 RPC_3", "RPC2 RPC3"},
		"a negation says something": {"why", "NOT_FOUND NOT_READY", "NotFound NotReady"},
		"behind words shared":       {"why", "ERR_NO_ROOM ERR_NO_FILE", "NoRoom NoFile"},
		"none where two would meet": {"auth", "AUTH_X X", "AuthX X"},
		"case is not looked at":     {"klm_stats", "klm_granted KLM_denied", "Granted Denied"},
	} {
		var got []string
		for _, ws := range own(c.owner, strings.Fields(c.names)) {
			got = append(got, camelWords(ws))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: behind %s, %s are %s, want %s", name, c.owner, c.names, s, c.want)
		}
	}
}
