package gonames

import (
	"strings"
	"unicode"
)

// This file turns the words of XDR names into Go names (ADR 0023, 0063).

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

// initialisms are written in capitals. They come from Go's linters (golint, and ST1003 of
// staticcheck), from NFS and from RPC. A number may follow (UTF8, NFS3), or a version (NFSv4).
var initialisms = set(
	"ACL", "AMQP", "API", "ASCII", "CPU", "CSS", "DB", "DNS", "EOF", "GID", "GUID", "HTML", "HTTP", "HTTPS",
	"ID", "IP", "JSON", "LHS", "QPS", "RAM", "RHS", "RPC", "RTP", "SIP", "SLA", "SMTP", "SQL", "SSH", "TCP",
	"TLS", "TS", "TTL", "UDP", "UI", "UID", "URI", "URL", "UTF", "UUID", "VM", "XML", "XMPP", "XSRF", "XSS",

	"ACE", "FH", "FS", "GSS", "IO", "NFS", "NIS", "NLM", "NSM", "OK", "PNFS", "RDMA", "SSV", "XDR", "XID",
)

// plurals are the initialisms that have a plural: GIDs, not Gids. The others do not: an initialism
// followed by an s is most often another abbreviation (fhs is the scope of fhstatus), or a separate
// name (XDRs, NISs).
var plurals = set("ACE", "ACL", "API", "CPU", "DB", "GID", "GUID", "ID", "IP", "RPC", "UID", "URI", "URL", "UUID", "VM", "XID")

// negations reverse the meaning of the words that follow.
var negations = set("DONT", "NO", "NON", "NOT")

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// Camel makes one exported Go name of a name's words.
func Camel(s string) string { return camelWords(words(s)) }

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

// capital is a word as part of a Go name: initialisms in capitals, with a small s for their plural
// and any number or version after them, other words with one capital in front. Mixed cases in a
// word have a meaning, and stay.
func capital(w string) string {
	letters := letters(w)
	switch up := strings.ToUpper(letters); {
	case letters == "":
		return w
	case initialisms[up]:
		return up + w[len(letters):]
	case strings.HasSuffix(up, "S") && plurals[up[:len(up)-1]]:
		return up[:len(up)-1] + "s" + w[len(letters):]
	case strings.HasSuffix(up, "V") && initialisms[up[:len(up)-1]] && letters != w:
		return up[:len(up)-1] + "v" + w[len(letters):]
	case up == letters:
		return w[:1] + strings.ToLower(w[1:])
	}
	return strings.ToUpper(w[:1]) + w[1:]
}

// letters returns a word without the number at its end.
func letters(w string) string { return strings.TrimRight(w, "0123456789") }
