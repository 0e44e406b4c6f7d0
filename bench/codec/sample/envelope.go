package sample

import (
	"github.com/rpcrdma/rpcrdma/bench/codec/envelope"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Envelope is a transaction with one operation of each kind, whose fee another
// account pays.
func Envelope() *envelope.Envelope {
	return &envelope.Envelope{
		Kind: envelope.KindFeeBump,
		Bumped: envelope.Bumped{
			Payer: account(1),
			Fee:   400,
			Inner: envelope.Signed{
				Transaction: envelope.Transaction{
					Source:     account(2),
					Fee:        100,
					Sequence:   1<<40 + 1,
					Bounds:     xdr.Some(envelope.Bounds{Earliest: 1700000000, Latest: 1700000300, Ledger: xdr.Some(int64(51_000_000))}),
					Memo:       envelope.Memo{Kind: envelope.MemoKindText, Text: []byte("invoice 2026-1121")},
					Operations: operations(),
				},
				Signatures: []envelope.Decorated{signature(3), signature(4)},
			},
			Signatures: []envelope.Decorated{signature(5)},
		},
	}
}

func operations() []envelope.Operation {
	short := envelope.Asset{Kind: envelope.AssetKindShort, Small: envelope.ShortAsset{Code: [4]byte{'E', 'U', 'R', 'T'}, Issuer: account(6)}}
	long := envelope.Asset{Kind: envelope.AssetKindLong, Large: &envelope.LongAsset{Code: [12]byte{'C', 'O', 'F', 'F', 'E', 'E', '2', '6'}, Issuer: tagged(7)}}
	native := envelope.Asset{Kind: envelope.AssetKindNative}
	merge, digest := account(15), key(16)
	return []envelope.Operation{
		{Body: envelope.Body{Kind: envelope.OperationKindCreate, Create: envelope.Create{Destination: account(8), Balance: 10_0000000}}},
		{Source: xdr.Some(account(9)), Body: envelope.Body{Kind: envelope.OperationKindPayment, Payment: &envelope.Payment{
			Destination: tagged(10), Asset: short, Amount: 25_0000000,
		}}},
		{Body: envelope.Body{Kind: envelope.OperationKindPathPayment, PathPayment: &envelope.PathPayment{
			Send: native, Most: 7_0000000, Destination: account(11), Receive: long, Amount: 3, Path: []envelope.Asset{short, native, long},
		}}},
		{Body: envelope.Body{Kind: envelope.OperationKindOffer, Offer: &envelope.Offer{
			Selling: long, Buying: short, Amount: 12345678, Price: envelope.Price{Numerator: 7, Denominator: 3}, ID: 99,
		}}},
		{Source: xdr.Some(tagged(12)), Body: envelope.Body{Kind: envelope.OperationKindOptions, Options: &envelope.Options{
			Inflation: xdr.Some(account(13)), SetFlags: xdr.Some(uint32(3)), Home: xdr.Some(envelope.Text("ledger.example")),
			Signer: xdr.Some(envelope.Signer{Key: account(14), Weight: 1}),
		}}},
		{Body: envelope.Body{Kind: envelope.OperationKindMerge, MergeInto: &merge}},
		{Body: envelope.Body{Kind: envelope.OperationKindData, Data: &envelope.Data{
			Name: []byte("config.hash"), Value: xdr.Some(envelope.Signature(digest[:])),
		}}},
		{Body: envelope.Body{Kind: envelope.OperationKindBump, Sequence: 1 << 41}},
	}
}

func account(i int) envelope.Account {
	return envelope.Account{Kind: envelope.KeyKindPlain, Key: key(i)}
}

func tagged(i int) envelope.Account {
	return envelope.Account{Kind: envelope.KeyKindTagged, Tagged: envelope.TaggedKey{Tag: uint64(i), Key: key(i)}}
}

func key(i int) (k envelope.Hash) {
	for j := range k {
		k[j] = byte(i*31 + j*7)
	}
	return k
}

func signature(i int) envelope.Decorated {
	a, b := key(i), key(i+100)
	return envelope.Decorated{Hint: [4]byte(a[28:]), Signature: append(a[:], b[:]...)}
}
