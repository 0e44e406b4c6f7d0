package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// section is a section of one of the documents below.
type section struct{ rfc, number string }

const (
	rfc8166 = "RFC 8166"
	rfc8167 = "RFC 8167" // both directions
	rfc8797 = "RFC 8797" // private data of connection setup
	rfc5666 = "RFC 5666" // replaced by RFC 8166
)

// documents lists the documents in the order of the page.
var documents = []string{rfc8166, rfc8167, rfc8797, rfc5666}

// String returns "§3.4.6" for RFC 8166 and "RFC 8167 §5.3" for another document.
func (s section) String() string {
	if s.rfc == rfc8166 {
		return "§" + s.number
	}
	return s.rfc + " §" + s.number
}

// heading returns the heading of the section in docs/rfc8166.md.
func (s section) heading() string { return s.String() + " " + s.title() }

// anchor returns the fragment by which a page links to that heading.
func (s section) anchor() string {
	var b strings.Builder
	for _, r := range strings.ToLower(s.heading()) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-', r == '_', '0' <= r && r <= '9', 'a' <= r && r <= 'z':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// parseSections reads a cell of a column whose numbers without a document are sections of rfc: "-"
// for none, else "3.3.1, 4.5, RFC 5666 3.8".
func parseSections(rfc, cell string) ([]section, error) {
	if cell == "-" {
		return nil, nil
	}
	var out []section
	for _, word := range strings.Split(cell, ", ") {
		s := section{rfc, word}
		for _, other := range documents {
			if number, ok := strings.CutPrefix(word, other+" "); ok {
				s = section{other, number}
			}
		}
		if !s.exists() {
			return nil, fmt.Errorf("found %q, expected a section of %s, one of another document as \"RFC 5666 3.8\", or -", word, rfc)
		}
		out = append(out, s)
	}
	return out, nil
}

// A citation of sections is "RFC 8166 §3.3.1", or "RFC 8166 §3.3.1, §4.5 and §7".
var (
	sectionsCited = regexp.MustCompile(`(RFC (?:8166|8167|8797|5666))\s+§[0-9.]+(?:(?:,|;|\s+and|\s+or)\s+§[0-9.]+)*`)
	sectionNumber = regexp.MustCompile(`§([0-9]+(?:\.[0-9]+)*)`)
)

// sectionOrder holds the sections of all documents in their order.
var sectionOrder = func() []section {
	var out []section
	for _, rfc := range documents {
		for _, line := range strings.Split(strings.TrimSpace(contents[rfc]), "\n") {
			number, _, _ := strings.Cut(line, " ")
			out = append(out, section{rfc, number})
		}
	}
	return out
}()

func (s section) exists() bool { return slices.Contains(sectionOrder, s) }

func (s section) title() string {
	_, after, _ := strings.Cut("\n"+contents[s.rfc], "\n"+s.number+" ")
	title, _, _ := strings.Cut(after, "\n")
	return title
}

// contents holds the numbers and titles of the sections that say what an implementation does.
var contents = map[string]string{
	rfc8166: `
1 Introduction
1.1 RPCs on RDMA Transports
2 Terminology
2.1 Requirements Language
2.2 RPCs
2.2.1 Upper-Layer Protocols
2.2.2 Requesters and Responders
2.2.3 RPC Transports
2.2.4 External Data Representation
2.2.4.1 XDR Opaque Data
2.2.4.2 XDR Roundup
2.3 RDMA
2.3.1 DDP
2.3.2 RDMA Transport Requirements
3 RPC-over-RDMA Protocol Framework
3.1 Transfer Models
3.2 Message Framing
3.3 Managing Receiver Resources
3.3.1 RPC-over-RDMA Credits
3.3.2 Inline Threshold
3.3.3 Initial Connection State
3.4 XDR Encoding with Chunks
3.4.1 Reducing an XDR Stream
3.4.2 DDP-Eligibility
3.4.3 RDMA Segments
3.4.4 Chunks
3.4.4.1 Counted Arrays
3.4.4.2 Optional-Data
3.4.4.3 XDR Unions
3.4.4.4 Chunk Roundup
3.4.5 Read Chunks
3.4.5.1 Decoding Read Chunks
3.4.5.2 Read Chunk Roundup
3.4.6 Write Chunks
3.4.6.1 Decoding Write Chunks
3.4.6.2 Write Chunk Roundup
3.5 Message Size
3.5.1 Short Messages
3.5.2 Chunked Messages
3.5.3 Long Messages
4 RPC-over-RDMA in Operation
4.1 XDR Protocol Definition
4.1.1 Code Component License
4.1.2 RPC-over-RDMA Version 1 XDR
4.2 Fixed Header Fields
4.2.1 Transaction ID (XID)
4.2.2 Version Number
4.2.3 Credit Value
4.2.4 Procedure Number
4.3 Chunk Lists
4.3.1 Read List
4.3.1.1 Matching Read Chunks to Arguments
4.3.2 Write List
4.3.2.1 Matching Write Chunks to Results
4.3.2.2 Unused Write Chunks
4.3.2.3 Empty Write Chunks
4.3.3 Reply Chunk
4.4 Memory Registration
4.4.1 Registration Longevity
4.4.2 Communicating DDP-Eligibility
4.4.3 Registration Strategies
4.5 Error Handling
4.5.1 Header Version Mismatch
4.5.2 XDR Errors
4.5.3 Responder RDMA Operational Errors
4.5.4 Other Operational Errors
4.5.5 RDMA Transport Errors
4.6 Protocol Elements No Longer Supported
4.6.1 RDMA_MSGP
4.6.2 RDMA_DONE
4.7 XDR Examples
5 RPC Bind Parameters
6 ULB Specifications
6.1 DDP-Eligibility
6.2 Maximum Reply Size
6.3 Additional Considerations
6.4 ULP Extensions
7 Protocol Extensibility
7.1 Conventional Extensions
8 Security Considerations
8.1 Memory Protection
8.1.1 Protection Domains
8.1.2 Handle Predictability
8.1.3 Memory Protection
8.1.4 Denial of Service
8.2 RPC Message Security
8.2.1 RPC-over-RDMA Protection at Lower Layers
8.2.2 RPCSEC_GSS on RPC-over-RDMA Transports
8.2.2.1 RPCSEC_GSS Context Negotiation
8.2.2.2 RPC-over-RDMA with RPCSEC_GSS Authentication
8.2.2.3 RPC-over-RDMA with RPCSEC_GSS Integrity or Privacy
8.2.2.4 Protecting RPC-over-RDMA Transport Headers
9 IANA Considerations
`,
	rfc8167: `
1 Introduction
2 Understanding RPC Direction
2.1 Forward Direction
2.2 Reverse Direction
2.3 Bidirectional Operation
2.4 XID Values
2.4.1 XID Generation
3 Immediate Uses of Bidirectional RPC-over-RDMA
3.1 NFS Version 4.0 Callback Operation
3.2 NFS Version 4.1 Callback Operation
4 Flow Control
4.1 Reverse-Direction Credits
4.2 Inline Thresholds
4.3 Managing Receive Buffers
4.3.1 Client Receive Buffers
4.3.2 Server Receive Buffers
5 Sending and Receiving Operations in the Reverse Direction
5.1 Sending a Call in the Reverse Direction
5.2 Sending a Reply in the Reverse Direction
5.3 Using Chunks in Reverse-Direction Operations
5.4 Reverse-Direction Retransmission
6 In the Absence of Support for Reverse-Direction Operation
7 Considerations for ULBs
8 Security Considerations
9 IANA Considerations
`,
	rfc8797: `
1 Introduction
2 Requirements Language
3 Advertised Transport Properties
3.1 Inline Threshold Size
3.2 Remote Invalidation
4 Private Data Message Format
4.1 Using the R Field
4.2 Send and Receive Size Values
5 Interoperability Considerations
5.1 Interoperability with RPC-over-RDMA Version 1 Implementations
5.2 Interoperability amongst RDMA Transports
6 Updating the Message Format
7 Security Considerations
8 IANA Considerations
`,
	rfc5666: `
1 Introduction
1.1 Requirements Language
2 Abstract RDMA Requirements
3 Protocol Outline
3.1 Short Messages
3.2 Data Chunks
3.3 Flow Control
3.4 XDR Encoding with Chunks
3.5 XDR Decoding with Read Chunks
3.6 XDR Decoding with Write Chunks
3.7 XDR Roundup and Chunks
3.8 RPC Call and Reply
3.9 Padding
4 RPC RDMA Message Layout
4.1 RPC-over-RDMA Header
4.2 RPC-over-RDMA Header Errors
4.3 XDR Language Description
5 Long Messages
5.1 Message as an RDMA Read Chunk
5.2 RDMA Write of Long Replies (Reply Chunks)
6 Connection Configuration Protocol
6.1 Initial Connection State
6.2 Protocol Description
7 Memory Registration Overhead
8 Errors and Error Recovery
9 Node Addressing
10 RPC Binding
11 Security Considerations
12 IANA Considerations
`,
}
