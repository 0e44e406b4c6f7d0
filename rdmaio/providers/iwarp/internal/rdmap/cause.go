package rdmap

import "fmt"

// The layers of a Cause.
const (
	LayerRDMAP = 0
	LayerDDP   = 1
	LayerLLP   = 2 // MPA
)

// The error types of layer RDMAP.
const (
	TypeLocal      = 0 // local catastrophic error; the code has no meaning
	TypeProtection = 1 // remote protection error
	TypeOperation  = 2 // remote operation error
)

// Cause is the error that a Terminate message reports: layer, error type and error code
// (RFC 5040 §4.8 Figure 9, RFC 5041 §7.2, RFC 5044 §8, RFC 6581 §8).
type Cause struct{ Layer, Type, Code uint8 }

// causes has the texts of the errors. Errors of a type without codes have code 0.
var causes = map[Cause]string{
	{LayerRDMAP, TypeLocal, 0}:         "local catastrophic error",
	{LayerRDMAP, TypeProtection, 0}:    "invalid STag",
	{LayerRDMAP, TypeProtection, 1}:    "base or bounds violation",
	{LayerRDMAP, TypeProtection, 2}:    "access rights violation",
	{LayerRDMAP, TypeProtection, 3}:    "STag not associated with the stream",
	{LayerRDMAP, TypeProtection, 4}:    "tagged offset wraps",
	{LayerRDMAP, TypeProtection, 9}:    "STag cannot be invalidated",
	{LayerRDMAP, TypeProtection, 0xff}: "unspecified error",
	{LayerRDMAP, TypeOperation, 5}:     "invalid RDMAP version",
	{LayerRDMAP, TypeOperation, 6}:     "unexpected opcode",
	{LayerRDMAP, TypeOperation, 7}:     "catastrophic error of the stream",
	{LayerRDMAP, TypeOperation, 8}:     "global catastrophic error",
	{LayerRDMAP, TypeOperation, 9}:     "STag cannot be invalidated",
	{LayerRDMAP, TypeOperation, 0xff}:  "unspecified error",
	{LayerDDP, ddpLocal, 0}:            "local catastrophic error",
	{LayerDDP, ddpTagged, 0}:           "invalid STag",
	{LayerDDP, ddpTagged, 1}:           "base or bounds violation",
	{LayerDDP, ddpTagged, 2}:           "STag not associated with the stream",
	{LayerDDP, ddpTagged, 3}:           "tagged offset wraps",
	{LayerDDP, ddpTagged, 4}:           "invalid DDP version",
	{LayerDDP, ddpUntagged, 1}:         "invalid queue number",
	{LayerDDP, ddpUntagged, 2}:         "no buffer available",
	{LayerDDP, ddpUntagged, 3}:         "message sequence number out of range",
	{LayerDDP, ddpUntagged, 4}:         "invalid message offset",
	{LayerDDP, ddpUntagged, 5}:         "message too long for its buffer",
	{LayerDDP, ddpUntagged, 6}:         "invalid DDP version",
	{LayerLLP, 0, 1}:                   "connection closed or lost",
	{LayerLLP, 0, 2}:                   "wrong CRC",
	{LayerLLP, 0, 3}:                   "Marker and length do not agree",
	{LayerLLP, 0, 4}:                   "invalid request or reply",
	{LayerLLP, 0, 5}:                   "local catastrophic error",
	{LayerLLP, 0, 6}:                   "insufficient IRD",
	{LayerLLP, 0, 7}:                   "no matching ready-to-receive indication",
}

const (
	ddpLocal    = 0
	ddpTagged   = 1
	ddpUntagged = 2
)

// text returns the text of the error, or "". The code of a local catastrophic error of
// RDMAP has no meaning.
func (c Cause) text() string {
	if c.Layer == LayerRDMAP && c.Type == TypeLocal {
		c.Code = 0
	}
	return causes[c]
}

// Known reports whether the RFCs have the error.
func (c Cause) Known() bool { return c.text() != "" }

// String returns layer, error type and error code by name and by number.
func (c Cause) String() string {
	layer, etype := fmt.Sprintf("layer %d", c.Layer), fmt.Sprintf("type %d", c.Type)
	switch c.Layer {
	case LayerRDMAP:
		layer = "RDMAP"
		if names := []string{"local catastrophic", "remote protection", "remote operation"}; int(c.Type) < len(names) {
			etype = names[c.Type]
		}
	case LayerDDP:
		layer = "DDP"
		if names := []string{"local catastrophic", "tagged buffer", "untagged buffer"}; int(c.Type) < len(names) {
			etype = names[c.Type]
		}
	case LayerLLP:
		layer = "LLP"
		if c.Type == 0 {
			etype = "MPA"
		}
	}
	text := c.text()
	if text == "" {
		text = "unknown"
	}
	return fmt.Sprintf("%s error, %s, code %d: %s", layer, etype, c.Code, text)
}
