package gonames

import (
	"slices"
	"strings"
)

// This file drops the words of a name that repeat its owner's name (ADR 0023, 0063).

// maxKept bounds the attempts to find names that differ.
const maxKept = 3

// own returns the words of each name that follow owner in a Go name: all but those at the front
// that all names share, as enumerators in C do because C has no scopes, and those that the owner's
// name has already. If taken reports that a name is in use, or two names would be equal, all names
// keep one word more, up to maxKept, and then all their words; met reports that.
func own(owner string, names []string, taken func([]string) bool) (short [][]string, met bool) {
	full := make([][]string, len(names))
	for i, n := range names {
		full[i] = words(n)
	}
	full = apart(owner, full)
	shared := sharedWords(full)
	drop := make([]int, len(full))
	for i, ws := range full {
		if drop[i] = max(shared, repeated(owner, ws)); len(full) == 1 {
			drop[i] = max(drop[i], contained(owner, ws))
		}
	}
	number := sharedNumber(owner, full)
	for keep := 0; ; keep++ {
		all := true
		short = make([][]string, len(full))
		for i, ws := range full {
			k := max(drop[i]-keep, 0)
			for k > 0 && !leavesName(ws[k:]) {
				k--
			}
			all = all && k == 0
			short[i] = withoutNumber(ws[k:], number)
		}
		if distinct(short) && !slices.ContainsFunc(short, taken) {
			return short, keep > 0
		}
		if all || keep == maxKept {
			return full, true
		}
	}
}

// scoped returns the words of a type's fields. The first is dropped if all fields have it, and its
// letters occur in this order in the type's name: csa for CREATE_SESSION4args, tv for timeval. It
// repeats the type's name then. Fields in C have such a word because they had one scope once.
func scoped(owner string, fields []string) [][]string {
	full := make([][]string, len(fields))
	for i, f := range fields {
		full[i] = words(f)
	}
	if !sharedScope(owner, full) {
		return full
	}
	short := make([][]string, len(full))
	for i, ws := range full {
		short[i] = ws[1:]
	}
	if !distinct(short) {
		return full
	}
	return short
}

// sharedScope reports whether the first word of fields repeats the owner's name. Where there is one
// field, the first letters are equal, too: nothing else shows that the word does not belong to the
// name.
func sharedScope(owner string, fields [][]string) bool {
	if len(fields) == 0 || len(fields[0]) == 0 {
		return false
	}
	word := fields[0][0]
	for _, ws := range fields {
		if len(ws) == 0 || !strings.EqualFold(ws[0], word) || !leavesName(ws[1:]) {
			return false
		}
	}
	return !negations[strings.ToUpper(word)] && abbreviates(word, owner) &&
		(len(fields) > 1 || hasPrefixFold(strings.TrimLeft(owner, "_"), word[:1]))
}

// abbreviates reports whether the letters of word occur in name, in their order.
func abbreviates(word, name string) bool {
	word, name = strings.ToLower(letters(word)), strings.ToLower(name)
	for i := range len(word) {
		at := strings.IndexByte(name, word[i])
		if at < 0 {
			return false
		}
		name = name[at+1:]
	}
	return word != ""
}

// distinct reports whether no two names are equal in Go but for case.
func distinct(names [][]string) bool {
	seen := map[string]bool{}
	for _, ws := range names {
		g := strings.ToLower(camelWords(ws))
		if seen[g] {
			return false
		}
		seen[g] = true
	}
	return true
}

// leavesName reports whether ws can follow an owner's name.
func leavesName(ws []string) bool { return len(ws) > 0 && !isDigit(ws[0][0]) }

// apart splits the first words of names where one name has a word by itself that the others write
// together with the next, if the owner's name begins with it: NFS_OK and NFSERR_IO of nfsstat.
func apart(owner string, names [][]string) [][]string {
	if len(names) < 2 {
		return names
	}
	for _, ws := range names {
		if len(ws) < 2 || !hasPrefixFold(owner, ws[0]) || !allBeginWith(names, ws[0]) {
			continue
		}
		out := make([][]string, len(names))
		for i, n := range names {
			if out[i] = n; len(n[0]) > len(ws[0]) {
				out[i] = append([]string{n[0][:len(ws[0])], n[0][len(ws[0]):]}, n[1:]...)
			}
		}
		return out
	}
	return names
}

func allBeginWith(names [][]string, word string) bool {
	return !slices.ContainsFunc(names, func(ws []string) bool {
		return len(ws) == 0 || !hasPrefixFold(ws[0], word) || len(ws[0]) > len(word) && isDigit(ws[0][len(word)])
	})
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// sharedWords returns the number of words at the front that all names share. None of them is a
// negation, and each name has a word after them. For one name it returns 0.
func sharedWords(names [][]string) int {
	if len(names) < 2 {
		return 0
	}
	first := names[0]
	k := 0
	for k < len(first) && !negations[strings.ToUpper(first[k])] && shareWord(names, k) {
		k++
	}
	for k > 0 && slices.ContainsFunc(names, func(ws []string) bool { return !leavesName(ws[k:]) }) {
		k--
	}
	return k
}

// shareWord reports whether word k of all names is the same. The number at its end may be missing
// in some (MNT_OK and MNT3ERR_IO), but there may not be two.
func shareWord(names [][]string, k int) bool {
	number := ""
	for _, ws := range names {
		if len(ws) <= k || !strings.EqualFold(letters(ws[k]), letters(names[0][k])) {
			return false
		}
		n := ws[k][len(letters(ws[k])):]
		if n != "" && number != "" && n != number {
			return false
		}
		number = max(number, n)
	}
	return true
}

// contained returns the number of words at the front of ws that the owner's name has too, in any
// order, with any number and in the plural as well. It serves an enum's only member, which shares
// no words with others.
func contained(owner string, ws []string) int {
	has := map[string]bool{}
	for _, w := range words(owner) {
		w = strings.ToUpper(letters(w))
		has[w], has[strings.TrimSuffix(w, "S")] = true, true
	}
	k := 0
	for k < len(ws) && !negations[strings.ToUpper(ws[k])] && has[strings.ToUpper(letters(ws[k]))] {
		k++
	}
	return k
}

// sharedNumber returns the number that the owner's name and a word of each name end with, or "":
// 4 for createmode4 with UNCHECKED4 and EXCLUSIVE4_1. For one name it returns "".
func sharedNumber(owner string, names [][]string) string {
	number := owner[len(letters(owner)):]
	if number == "" || len(names) < 2 {
		return ""
	}
	for _, ws := range names {
		if !slices.ContainsFunc(ws, func(w string) bool { l := letters(w); return l != "" && w[len(l):] == number }) {
			return ""
		}
	}
	return number
}

// withoutNumber drops a number from the end of the last word.
func withoutNumber(ws []string, number string) []string {
	if len(ws) == 0 || number == "" {
		return ws
	}
	last := len(ws) - 1
	l := letters(ws[last])
	if l == "" || ws[last][len(l):] != number {
		return ws
	}
	return append(slices.Clone(ws[:last]), l)
}

// repeated returns the number of words at the front of ws that the owner's name begins with. The
// owner's name may write them as one word (virNetMessage, VIR_NET).
func repeated(owner string, ws []string) int {
	k, at := 0, 0
	for i, w := range ws {
		if at = after(owner, at, w); at < 0 {
			break
		}
		if wordEnds(owner, at) {
			k = i + 1
		}
	}
	return k
}

// after returns the place in name after the letters of w, which begin at place at, or -1 if other
// letters are there. Underscores in name do not count.
func after(name string, at int, w string) int {
	for n := 0; n < len(w); at++ {
		switch {
		case at == len(name):
			return -1
		case name[at] == '_':
		case strings.EqualFold(name[at:at+1], w[n:n+1]):
			n++
		default:
			return -1
		}
	}
	return at
}

// wordEnds reports whether a word of name ends in front of place i.
func wordEnds(name string, i int) bool {
	if i == len(name) || name[i] == '_' || isDigit(name[i-1]) && !isDigit(name[i]) {
		return true
	}
	return name[i] >= 'A' && name[i] <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z'
}
