package archtest

import "strings"

// Accents returns further patterns that CheckLanguage counts. None of them is a mistake: each is a
// turn that good Go comments have rarely and text translated from another language often (ADR 0121
// has the rates). A place has an allowance, which falls to those rates as text is rewritten.
func Accents() []Wording {
	const (
		be     = `(?:is|are|was|were|be|been)`
		have   = `(?:has|have|had)`
		subset = `^(?:one|any|each|all|some|both|none|many|most|few|half|part|much|rest|two|three|think) of `
		word   = `(?:[a-z]+ )?`
		close  = `"closes", "fails", "completes", "cancels", "invalidates" or "returns"`
		actors = `(?:connections?|calls?|contexts?|process|sessions?|requests?|clients?|servers?|peers?|streams?|handlers?|exchanges?|handshakes?)`
	)
	return []Wording{
		accent(`of`, `\bof(?: [a-z0-9'-]+){1,3} of\b`, `(?:one|any|each|all|some|both|none|because|instead|out|kind|part|regardless|consists?) of$`,
			`a compound or a verb: "the peer's disconnect" for "the end of the connection of the peer"`),
		accent(`none`, `\b(?:`+be+`|`+have+`|with|and) none\b`, ``, `the value, or the verb: "0 means no limit", "does not have a key"`),
		accent(`no`, word+`\b`+be+` no [a-z]+`, `^there | no (?:longer|more|less|need|different|better|worse|other|such|use)$`, `"is not a"`),
		accent(`that those`, `\b(?:that|those) of\b`, ``, `the noun again, or the possessive: "the peer's"`),
		accent(`stand stood`, `\b(?:stands?|stood)\b(?:-| [a-z]+)?`, `(?:-| for| in for)$`, `"is", "is in", "is written" or "precedes"`),
		accent(`goes going went`, `\b(?:goes|going|went) on\b`, ``, `"continues", "stays up" or "proceeds"`),
		accent(`ends ended`, `\bend(?:s|ed) (?:it|the|a|an|its|this|that|all|each|every|their|them)\b`, ``, close),
		accent(`ended`, `\b(?:`+be+`|`+have+`) ended\b`, ``, `"is closed", "has failed", "is done" or "has returned"`),
		accent(`end`, `\b`+actors+` ends?\b(?: [a-z]+)?`, ` (?:with|in|at|of|up)$`, close),
		accent(`which`, `\bof which\b`, ``, `a sentence of its own, or "whose"`),
		accent(`mu lock`, `\b(?:mu|lock) is (?:locked|held)\b`, ``, `the holder and the lock: "c.mu must be held"`),
		accent(`of`, word+`\bof (?:it|them)\b`, subset, `the noun`),
		accent(`behind`, word+`\bbehind (?:it|them|the|a|an|its|this|that)\b`, `^(?:stays?|falls?|fell|left|lags?|hidden|hides?|host) `, `"after"`),
		accent(`beside`, `\bbeside\b`, ``, `"next to", "with", "in addition to" or "except for"`),
		accent(`meanwhile`, `\bmeanwhile\b`, ``, `"while", with the event that lasts`),
		accent(`own`, `\bof (?:its|their) own\b`, ``, `"its own" before the noun`),
	}
}

// accent is like wording. Only texts with one of the words are searched: the patterns are slow.
func accent(words, match, except, instead string) Wording {
	w := wording(match, except, instead)
	w.rule = "accent"
	w.words = strings.Fields(words)
	return w
}
