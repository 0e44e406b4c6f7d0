package oracle

import (
	"slices"
	"strings"
)

// Masks for answers that differ in one part.
const (
	setBits   = `[0-7]([0-7]{3} \d+:\d+)`  // the set-ID and sticky bits
	noMode    = `file 0(?:60|00)0( )`      // the mode of a file that is made without one
	firstWord = `^\w+(.*)`                 // the status
	linkCount = `links \d+()`              // the number of names
	owned     = `^(link \d{4}) \d+:\d+( )` // the owner of a link
)

// Linux returns the ways in which Linux's server answers differently than package nfsd. release is
// the kernel's, as uname -r prints it. If it is empty, the ways of all kernels are returned.
func Linux(release string) []Difference {
	return slices.DeleteFunc(linux(), func(d Difference) bool {
		return release != "" && d.Kernel != "" && !strings.HasPrefix(release, d.Kernel+".")
	})
}

func linux() []Difference {
	return []Difference{
		{
			Kernel: "6.1", Question: `extent/.*/READ before it`, Ours: `5 bytes .*`, Theirs: `5 bytes "(\\x00)*", eof false`,
			Reason: "Linux 6.1 reads a file with a hole wrongly from tmpfs, if the offset is not page aligned.",
		},
		{
			Kernel: "6.1", Question: `setattr/guard/.*`,
			Reason: "SETATTR with a guard compares nanoseconds, too. Linux 6.1 compares seconds alone.",
		},
		{
			Question: `owner/uid (4294967295 gid .*|.* gid 4294967295)/.*`, Ours: `NFS3ERR_(PERM|INVAL).*`, Theirs: `(NFS3_OK|file|directory|link).*`,
			Reason: "No user has the id 2^32-1: Linux takes it for \"no change\", and answers that all is done.",
		},
		{
			Question: `(chmod|owner)/.*/MKDIR .*`, Mask: setBits,
			Reason: "MKDIR sets the set-user-ID and set-group-ID bits that the client asks for. Linux leaves them to a later SETATTR.",
		},
		{
			Question: `chmod/.*/(CREATE|MKNOD) in a directory of mode 2777 by other`, Mask: setBits,
			Reason: "A caller outside the group of a new file does not make it set-group-ID. Linux sees to that only if the group may execute the file.",
		},
		{
			Question: `set-id/.*/(SETATTR of (a smaller|the same|a larger) size|CREATE with size 0)/by .*`, Mask: setBits,
			Reason: "A change of the size takes the set-ID bits from a file, as a WRITE does and as truncate(2) does. Linux's server leaves them.",
		},
		{
			Question: `set-id/.*/(WRITE|SETATTR of .*)/by .*|setattr/several/attributes 4 by .*`, Mask: setBits,
			Reason: "Linux leaves the set-group-ID bit if the group may not execute the file: it was a mark for mandatory locks.",
		},
		{
			Question: `change/.*/exclusive CREATE/.*|name/.*/(exclusive CREATE|RENAME from it)|type/directory/.*/exclusive CREATE .*|create/.*/EXCLUSIVE.*|create/verifiers/.*|create/nothing.*/UNCHECKED( with size \d)?( again)? by .*|extent/.*/CREATE of a file with the size`,
			Mask:     noMode,
			Reason:   "A file that is made without a mode has 0600, so that its owner can use it. Linux gives it 0000.",
		},
		{
			Question: `name/.*|rename/special/of a name in a file`, Ours: `NFS3ERR_(NAMETOOLONG|ACCES).*`, Theirs: `GARBAGE_ARGS.*`, Mask: firstWord,
			Reason: "A name that is too long, or has a slash, is refused by a status of NFS (RFC 1813 §3.2). Linux's decoder refuses the whole call.",
		},
		{
			Question: `name/"\.\.?"/.*|(type|handle)/.*/(REMOVE of \.|RMDIR of \.\.) by .*|rename/special/(of|to) \.\.?`,
			Ours:     `NFS3ERR_(ISDIR|INVAL|EXIST|NOTDIR|STALE|BADHANDLE).*`, Theirs: `NFS3ERR_(ACCES|PERM).*`, Mask: firstWord,
			Reason: "RFC 1813 §3.3.12 to §3.3.14 has the statuses for \".\" and \"..\"; a wrong handle comes first. Linux has one status for each procedure.",
		},
		{
			Question: `type/.*/SETATTR of the size by .*`, Ours: `NFS3ERR_ACCES`, Theirs: `NFS3ERR_(INVAL|ISDIR)`,
			Reason: "The caller's rights are checked before the type of the object.",
		},
		{
			Question: `(link/.*/by|type/.*/LINK of o by) .*`, Ours: `NFS3ERR_PERM.*`, Theirs: `NFS3_OK.*`,
			Reason: "A caller that may not read and write another user's file cannot link it, as Linux protects hard links for local users (proc_sys_fs(5)). Its server does not.",
		},
		{
			Question: `type/.*/afterwards by (other|squashed root)`, Mask: linkCount,
			Reason: "The effect of the LINK that Linux allows.",
		},
		{
			Question: `type/directory/.*/READLINK .*`, Ours: `NFS3ERR_INVAL`, Theirs: `NFS3ERR_ISDIR`,
			Reason: "READLINK of something else than a link is NFS3ERR_INVAL (RFC 1813 §3.3.5).",
		},
		{
			Question: `type/link/.*/SETATTR of the mode by .*`, Ours: `NFS3ERR_NOTSUPP`, Theirs: `NFS3_OK`,
			Reason: "Links have no mode that can be set. Linux ignores it, and answers that it is done.",
		},
		{
			Question: `handle/.*/empty/.*`, Ours: `NFS3ERR_BADHANDLE`, Theirs: `GARBAGE_ARGS`,
			Reason: "An empty handle is refused by a status of NFS. Linux's decoder refuses the whole call.",
		},
		{
			Question: `handle/.*/(a byte less|4 bytes less|a byte in between|the last byte|the first byte)/.*`, Ours: `NFS3ERR_BADHANDLE`, Theirs: `NFS3ERR_STALE`,
			Reason: "Handles have a MAC, so that one the server has not made is known as such.",
		},
		{
			Question: `handle/.*/4 bytes more/.*`, Ours: `NFS3ERR_BADHANDLE`, Theirs: `.*`,
			Reason: "A handle has one length. Linux ignores what follows the one that it has made.",
		},
		{
			Question: `extent/forms/WRITE with a count .*`, Ours: `NFS3ERR_INVAL.*`, Theirs: `GARBAGE_ARGS.*`, Mask: firstWord,
			Reason: "A WRITE whose count is not the size of its data is refused by a status of NFS. Linux's decoder refuses the whole call.",
		},
		{
			Question: `owner/.*/MKNOD by .*`, Ours: `socket .*`, Theirs: `NFS3ERR_INVAL`,
			Reason: "A size in the attributes of a new object without data is ignored.",
		},
		{
			Question: `owner/.*/SYMLINK by root`, Mask: owned,
			Reason: "SYMLINK by root sets the ids in the attributes, as MKDIR does. Linux ignores them.",
		},
		{
			Question: `create/.*/UNCHECKED.*`, Ours: `NFS3ERR_EXIST`, Theirs: `(directory|link|fifo|socket|character device|block device) .*`,
			Reason: "CREATE opens files. Linux answers with the object of another type that has the name.",
		},
		{
			Question: `rename/.* onto directory/.*|rename/special/.*`, Ours: `NFS3ERR_EXIST.*`, Theirs: `NFS3ERR_(ISDIR|NOTEMPTY).*`, Mask: firstWord,
			Reason: "An object that cannot take the place of the other one is NFS3ERR_EXIST (RFC 1813 §3.3.14).",
		},
		{
			Question: `name/target of a symbolic link/"" .*`, Ours: `NFS3ERR_NOENT`, Theirs: `NFS3ERR_INVAL`,
			Reason: "An empty path is ENOENT, as by symlink(2).",
		},
		{
			Question: `setattr/several/.*`, Ours: `NFS3ERR_PERM.*`, Theirs: `NFS3ERR_PERM.*`,
			Reason: "All rights are checked before the first change. Linux changes the size, and then refuses the rest.",
		},
		{
			Question: `cookie/readdir/(count|dircount) .*`, Ours: `NFS3ERR_TOOSMALL.*`, Theirs: `no end with 0 names|eof with 42 names|NFS3_OK without an entry`,
			Reason: "A listing has at most the size that the client asks for; if no entry fits, that is NFS3ERR_TOOSMALL (RFC 1813 §3.3.16). Linux sends more, or nothing at all.",
		},
		{
			Question: `cookie/readdir/cookie: the largest`, Ours: `NFS3ERR_BAD_COOKIE`, Theirs: `NFS3ERR_INVAL`,
			Reason: "A cookie that no listing has had is NFS3ERR_BAD_COOKIE.",
		},
		{
			Question: `cookie/readdir/cookie: with another verifier`, Ours: `NFS3ERR_BAD_COOKIE`, Theirs: `NFS3_OK`,
			Reason: "The verifier belongs to the directory. Linux ignores it.",
		},
		{
			Question: `facts/server/FSINFO time_delta`, Ours: `.*`, Theirs: `.*`,
			Reason: "Files have times in nanoseconds. Linux says that it sets seconds.",
		},
		{
			Question: `facts/server/FSINFO (rtmax|wtmax)`, Ours: `1048576`, Theirs: `\d+`,
			Reason: "Linux chooses the largest READ and WRITE by the size of its memory.",
		},
		{
			Question: `facts/server/PATHCONF linkmax`, Ours: `32000`, Theirs: `255`,
			Reason: "Linux's server knows the limit of ext2 and ext3 alone.",
		},
		{
			Question: `facts/server/PATHCONF`, Ours: `255 true true false true`, Theirs: `255 false true false true`,
			Reason: "A name that is too long is refused and not cut: no_trunc is true. Linux says false, and refuses it, too.",
		},
	}
}
