package gonames

import (
	"strings"
	"testing"
)

func TestWordsBecomeCamelCase(t *testing.T) {
	for in, want := range map[string]string{
		"nfs_fh4":           "NFSFH4",
		"NFS3_FHSIZE":       "NFS3Fhsize",
		"NFS4ERR_IO":        "NFS4ErrIO",
		"ACCESS4args":       "Access4Args",
		"READDIRPLUS3resok": "Readdirplus3Resok",
		"utf8str_cs":        "UTF8StrCs",
		"EXCLUSIVE4_1":      "Exclusive4_1",
		"nfsv4_1_file":      "NFSv4_1File",
		"USE_IPV6":          "UseIPv6",
		"DIV":               "Div",
		"FHV":               "Fhv",
		"clientid4":         "Clientid4",
		"virLXCMonitor":     "VirLXCMonitor",
		"gids":              "GIDs",
		"RPC_MAX_GIDS":      "RPCMaxGIDs",
		"na41_aces":         "Na41ACEs",
		"client_ids4":       "ClientIDs4",
		"IDs_of_all":        "IDsOfAll",
		"fhs_status":        "FhsStatus", // its scope, no handles
		"is_dns":            "IsDNS",
		"nis_domain":        "NISDomain",
		"https_port":        "HTTPSPort",
		"IDSET":             "Idset",
		"rdma_xid":          "RDMAXID",
		"ok":                "OK",
		"__x":               "X",
		"x2y3":              "X2Y3",
		"2nd":               "X2Nd",
		"_":                 "X",
	} {
		if got := Camel(in); got != want {
			t.Errorf("camel(%s) = %s, want %s", in, got, want)
		}
	}
}

// TestWordsAfterTheOwner checks the words that follow the owner's name.
func TestWordsAfterTheOwner(t *testing.T) {
	for name, c := range map[string]struct{ owner, names, want string }{
		"the owner's first word":    {"auth_stat", "AUTH_OK AUTH_TOOWEAK RPCSEC_GSS_CTXPROBLEM", "OK Tooweak RpcsecGSSCtxproblem"},
		"shared by all":             {"open_claim_type4", "CLAIM_NULL CLAIM_FH", "Null FH"},
		"a number that some have":   {"mountstat3", "MNT_OK MNT3ERR_IO", "OK ErrIO"},
		"two numbers":               {"ip", "V4_ANY V6_ANY", "V4Any V6Any"},
		"words in any order, alone": {"gf1_cli_op_flags", "GF_CLI_FLAG_OP_FORCE", "Force"},
		"the last word stays":       {"sync_all", "ALL_SYNC", "Sync"},
		"a negation, alone":         {"no_lock", "NO_LOCK_HELD", "Held"},
		"shared up to a digit":      {"nfsstat4", "NFS4_OK NFS4ERR_PERM", "OK ErrPerm"},
		"a word in one of them":     {"nfsstat", "NFS_OK NFSERR_PERM", "OK ErrPerm"},
		"and not in the owner":      {"stat", "NFS_OK NFSERR_PERM", "NFSOK NfserrPerm"},
		"nor in one of them":        {"nfsstat", "NFSX_OK NFSERR_PERM", "NfsxOK NfserrPerm"},
		"or two numbers":            {"nfsstat", "NFS_OK NFS3ERR_PERM NFS4ERR_IO", "NFSOK NFS3ErrPerm NFS4ErrIO"},
		"the owner's number":        {"time_how4", "SET_TO_CLIENT_TIME4 SET_TO_SERVER_TIME4", "ClientTime ServerTime"},
		"not all have the number":   {"addr4", "IPV4 UNIX", "IPv4 Unix"},
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
		short, _ := own(c.owner, strings.Fields(c.names), free)
		for _, ws := range short {
			got = append(got, camelWords(ws))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: behind %s, %s are %s, want %s", name, c.owner, c.names, s, c.want)
		}
	}
}
