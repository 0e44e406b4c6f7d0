package monitor

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var page string

// policy lets the page run its own script and style, and ask this server; nothing else.
var policy = "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src '" +
	hashOf("script") + "'; style-src '" + hashOf("style") + "'"

// hashOf returns the hash of one of the page's elements, for the policy.
func hashOf(element string) string {
	_, rest, _ := strings.Cut(page, "<"+element+">")
	text, _, _ := strings.Cut(rest, "</"+element+">")
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// ServeHTTP serves the page, and with the query "json" what it shows, as JSON. The further
// queries "find", "from" and "most" are the fields of Query.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the page is only read", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	q := r.URL.Query()
	if !q.Has("json") {
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		_, _ = w.Write([]byte(page))
		return
	}
	h.Set("Content-Type", "application/json")
	from, _ := strconv.Atoi(q.Get("from")) // 0 if it is not a number
	most, _ := strconv.Atoi(q.Get("most"))
	_ = json.NewEncoder(w).Encode(jsonOf(m.Look(Query{Find: q.Get("find"), From: from, Most: most})))
}

// The JSON of a Snapshot. Times are in seconds, or in nanoseconds where the name says so.
type (
	snapshotJSON struct {
		V          int             `json:"v"`
		Time       time.Time       `json:"time"`
		Since      time.Time       `json:"since"`
		Sources    []sourceJSON    `json:"sources"`
		Procedures []procedureJSON `json:"procedures"`
		InProgress []progressJSON  `json:"in_progress"`
		Total      int             `json:"in_progress_total"`
		Records    []recordJSON    `json:"records"`
		Earlier    uint64          `json:"records_earlier"`
	}
	sourceJSON struct {
		Name  string     `json:"name"`
		Stats fieldsJSON `json:"stats"`
		Conns []connJSON `json:"conns"`
		Total int        `json:"total"`
		Found int        `json:"found"`
	}
	connJSON struct {
		Addr  string     `json:"addr"`
		Stats fieldsJSON `json:"stats"`
	}
	fieldsJSON    [][2]string
	procedureJSON struct {
		Side     string            `json:"side"`
		Peer     string            `json:"peer,omitempty"`
		Name     string            `json:"name"`
		Outcomes map[string]uint64 `json:"outcomes"`
		Received uint64            `json:"received"`
		Sent     uint64            `json:"sent"`
		Times    timesJSON         `json:"times"`
		Sending  timesJSON         `json:"sending"`
		Parts    *partsJSON        `json:"parts,omitempty"`
	}
	partsJSON struct {
		Waited   timesJSON `json:"waited"`
		Sent     timesJSON `json:"sent"`
		Served   timesJSON `json:"served"`
		Received timesJSON `json:"received"`
	}
	timesJSON struct {
		Count   uint64      `json:"count"`
		Mean    int64       `json:"mean_ns"`
		P50     int64       `json:"p50_ns"`
		P99     int64       `json:"p99_ns"`
		Max     int64       `json:"max_ns"`
		Buckets [][2]uint64 `json:"buckets"` // the limit in ns, 0 for none, and the number
	}
	progressJSON struct {
		Side string `json:"side"`
		Peer string `json:"peer"`
		Name string `json:"name"`
		XID  uint32 `json:"xid"`
		Age  int64  `json:"age_ns"`
	}
	recordJSON struct {
		Time  time.Time `json:"time"`
		Level string    `json:"level"`
		Text  string    `json:"text"`
	}
)

func jsonOf(s Snapshot) *snapshotJSON {
	j := &snapshotJSON{
		V: 1, Time: s.Time, Since: s.Since, Total: s.Total, Earlier: s.Earlier,
		Sources: []sourceJSON{}, Procedures: []procedureJSON{}, InProgress: []progressJSON{}, Records: []recordJSON{},
	}
	for _, src := range s.Sources {
		of := sourceJSON{src.Name, fieldsOfJSON(src.Stats), []connJSON{}, src.Total, src.Found}
		for _, c := range src.Conns {
			of.Conns = append(of.Conns, connJSON{c.Addr, fieldsOfJSON(c.Stats)})
		}
		j.Sources = append(j.Sources, of)
	}
	for i := range s.Procedures {
		p := &s.Procedures[i]
		j.Procedures = append(j.Procedures, procedureJSON{
			sideOf(p.Made), p.Peer, p.Name, p.Outcomes, p.Received, p.Sent, timesOfJSON(&p.Times), timesOfJSON(&p.Sending), partsOfJSON(p.Parts),
		})
	}
	for _, c := range s.InProgress {
		j.InProgress = append(j.InProgress, progressJSON{sideOf(c.Made), c.Peer, c.Name, c.XID, c.Age.Nanoseconds()})
	}
	for _, r := range s.Records {
		j.Records = append(j.Records, recordJSON(r))
	}
	return j
}

func fieldsOfJSON(fields []Field) fieldsJSON {
	j := fieldsJSON{}
	for _, f := range fields {
		j = append(j, [2]string{f.Name, f.Value})
	}
	return j
}

func partsOfJSON(p *Parts) *partsJSON {
	if p == nil {
		return nil
	}
	return &partsJSON{timesOfJSON(&p.Waited), timesOfJSON(&p.Sent), timesOfJSON(&p.Served), timesOfJSON(&p.Received)}
}

func timesOfJSON(t *Times) timesJSON {
	j := timesJSON{
		Count: t.Count, P50: t.Quantile(0.5).Nanoseconds(), P99: t.Quantile(0.99).Nanoseconds(), Max: t.Max.Nanoseconds(), Buckets: [][2]uint64{},
	}
	if t.Count > 0 {
		j.Mean = t.Sum.Nanoseconds() / int64(t.Count)
	}
	for i, n := range t.Buckets() {
		if n > 0 {
			j.Buckets = append(j.Buckets, [2]uint64{uint64(UpTo(i)), n})
		}
	}
	return j
}

// sideOf names the side of a Call.
func sideOf(made bool) string {
	if made {
		return "client"
	}
	return "server"
}
