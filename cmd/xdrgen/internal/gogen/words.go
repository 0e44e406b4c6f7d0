package gogen

import (
	"slices"
	"strings"
	"unicode"
)

// This file turns the words of XDR names into Go names (ADR 0023).

// words splits a name at underscores and behind digits: NFS4ERR_IO has three.
func words(s string) []string {
	var out []string
	for _, part := range strings.Split(s, "_") {
		from := 0
		for i := 1; i < len(part); i++ {
			if isDigit(part[i-1]) && !isDigit(part[i]) {
				out = append(out, part[from:i])
				from = i
			}
		}
		if from < len(part) {
			out = append(out, part[from:])
		}
	}
	return out
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// initialisms are written in capitals: those that Go's linters ask for, and those of the field.
var initialisms = set("ACL", "API", "ASCII", "CPU", "CSS", "DNS", "EOF", "GID", "GSS", "GUID", "HTML", "HTTP", "HTTPS",
	"ID", "IP", "JSON", "NFS", "OK", "QPS", "RAM", "RDMA", "RPC", "SLA", "SMTP", "SQL", "SSH", "TCP", "TLS", "TTL",
	"UDP", "UI", "UID", "URI", "URL", "UTF", "UUID", "VM", "XDR", "XID", "XML", "XMPP", "XSRF", "XSS")

// negations reverse the meaning of the words that follow.
var negations = set("DONT", "NO", "NON", "NOT")

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// camel makes one exported Go name of a name's words.
func camel(s string) string { return camelWords(words(s)) }

func camelWords(ws []string) string {
	var b strings.Builder
	for _, w := range ws {
		if b.Len() > 0 && isDigit(b.String()[b.Len()-1]) && isDigit(w[0]) {
			b.WriteByte('_')
		}
		b.WriteString(capital(w))
	}
	g := b.String()
	if g == "" || !unicode.IsLetter(rune(g[0])) {
		g = "X" + g
	}
	return g
}

// capital is a word as part of a Go name: initialisms in capitals, with any number after them,
// other words with one capital in front. Mixed cases in a word have a meaning, and stay.
func capital(w string) string {
	letters := strings.TrimRight(w, "0123456789")
	switch up := strings.ToUpper(letters); {
	case letters == "":
		return w
	case initialisms[up]:
		return up + w[len(letters):]
	case up == letters:
		return w[:1] + strings.ToLower(w[1:])
	}
	return strings.ToUpper(w[:1]) + w[1:]
}

// own returns the words of each name that follow owner in a Go name: all but those at the front
// that all names share, as enumerators in C do because C has no scopes, and those that the owner's
// name begins with. If that made two names equal, it returns all words.
func own(owner string, names []string) [][]string {
	full, short := make([][]string, len(names)), make([][]string, len(names))
	for i, n := range names {
		full[i] = words(n)
	}
	shared := sharedWords(full)
	seen := map[string]bool{}
	for i, ws := range full {
		k := max(shared, repeated(owner, ws))
		for k > 0 && !leavesName(ws[k:]) {
			k--
		}
		short[i] = ws[k:]
		g := strings.ToLower(camelWords(short[i]))
		if seen[g] {
			return full
		}
		seen[g] = true
	}
	return short
}

// leavesName reports whether ws can follow an owner's name.
func leavesName(ws []string) bool { return len(ws) > 0 && !isDigit(ws[0][0]) }

// sharedWords returns the number of words at the front that all names share. None of them is a
// negation, and each name has a word after them. For one name it returns 0.
func sharedWords(names [][]string) int {
	if len(names) < 2 {
		return 0
	}
	first := names[0]
	k := 0
	for k < len(first) && !negations[strings.ToUpper(first[k])] &&
		!slices.ContainsFunc(names, func(ws []string) bool { return len(ws) <= k || !strings.EqualFold(ws[k], first[k]) }) {
		k++
	}
	for k > 0 && slices.ContainsFunc(names, func(ws []string) bool { return !leavesName(ws[k:]) }) {
		k--
	}
	return k
}

// repeated returns the number of words at the front of ws that the owner's name begins with. The
// owner's name may write them as one word (virNetMessage, VIR_NET).
func repeated(owner string, ws []string) int {
	var run string
	k := 0
	for i, w := range ws {
		run += w
		if startsWord(owner, run) {
			k = i + 1
		}
	}
	return k
}

// startsWord reports whether name begins with run, the words without separators, and a word ends
// there.
func startsWord(name, run string) bool {
	i, n := 0, 0
	for ; i < len(name) && n < len(run); i++ {
		if name[i] == '_' {
			continue
		}
		if !strings.EqualFold(name[i:i+1], run[n:n+1]) {
			return false
		}
		n++
	}
	switch {
	case n < len(run):
		return false
	case i == len(name) || name[i] == '_' || isDigit(name[i-1]) && !isDigit(name[i]):
		return true
	}
	return name[i] >= 'A' && name[i] <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z'
}
