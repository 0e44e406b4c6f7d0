package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// count returns a number with its noun, in singular or plural.
func count[N int | uint64](n N, one, more string) string {
	if n == 1 {
		more = one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// rounded returns d rounded to four digits.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 10_000 {
		unit *= 10
	}
	return d.Round(unit)
}

// plain returns a text of the server for a terminal: without control characters, and cut at 64
// bytes.
func plain(s string) string {
	const most = 64
	if len(s) > most || strings.ContainsFunc(s, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.QuoteToASCII(s[:min(len(s), most)])
	}
	return dash(s)
}
