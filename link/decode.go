package link

import (
	"strconv"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/document"
)

// EnvelopeLimit is the largest message that the broker carries.
const EnvelopeLimit = 8 << 20

// What a message may hold at most, besides the envelopes in it.
const (
	messageLimit = 256 << 10 // one that carries no envelope
	logLimit     = 256 << 10 // a part of a log, as text
	partLimit    = 2 << 20   // a message with one: each byte may be written as six
	textLimit    = 4 << 10
	wordLimit    = 255
	stepLimit    = 32
	speaksLimit  = 32
)

// DecodeEnvelope reads exactly one envelope. What is in it has not been
// verified: see Envelope.Open.
func DecodeEnvelope(data []byte) (Envelope, error) {
	f := document.Form[Envelope]{
		Name: "envelope", Limits: document.Limits{Bytes: EnvelopeLimit, Depth: 3},
		Check: func(v Envelope, r *document.Reading) { checker{r}.envelope("", v) },
	}
	return f.Decode(data)
}

// DecodeHello reads a host's hello.
func DecodeHello(payload []byte) (Hello, error) {
	return message("hello", messageLimit, checkHello).Decode(payload)
}

// DecodeHelloAnswer reads the controller's answer to a hello.
func DecodeHelloAnswer(payload []byte) (HelloAnswer, error) {
	return message("hello answer", EnvelopeLimit, checkHelloAnswer).Decode(payload)
}

// DecodeReceipt reads the controller's word that something is committed.
func DecodeReceipt(payload []byte) (Receipt, error) {
	return message("receipt", messageLimit, checkReceipt).Decode(payload)
}

// DecodeWork reads a builder's question for work.
func DecodeWork(payload []byte) (Work, error) {
	return message("work", messageLimit, checkWork).Decode(payload)
}

// DecodeWorkAnswer reads the controller's answer to a question for work.
func DecodeWorkAnswer(payload []byte) (WorkAnswer, error) {
	return message("work answer", EnvelopeLimit, checkWorkAnswer).Decode(payload)
}

// DecodeWorking reads a builder's word that it is still at a request.
func DecodeWorking(payload []byte) (Working, error) {
	return message("working", partLimit, checkWorking).Decode(payload)
}

// DecodeKeys reads a key document. Who signed it has not been verified: see
// VerifyKeys.
func DecodeKeys(payload []byte) (Keys, error) {
	return message("key document", messageLimit, func(v Keys, r *document.Reading) {
		if err := v.check(); v.Format == Format && err != nil {
			r.Fault("", "", "%s", err)
		}
	}).Decode(payload)
}

func message[T any](name string, bytes int, check func(T, *document.Reading)) document.Form[T] {
	return document.Form[T]{
		Name: name, Limits: document.Limits{Bytes: bytes, Depth: 6}, Speaks: Format,
		Reader: "this program", Upgrade: "upgrade this program", Check: check,
	}
}

type checker struct{ *document.Reading }

func checkHello(v Hello, r *document.Reading) {
	c := checker{r}
	c.id("mesh", v.Mesh)
	c.id("node", v.Node)
	c.text("boot", v.Boot, wordLimit)
	c.least("counter", v.Counter, 1)
	c.text("host", v.Host, wordLimit)
	c.speaks(v.Speaks)
	c.least("keys", v.Keys, 0)
	c.tuple("accepted", v.Accepted)
	c.tuple("applied", v.Applied)
	if v.FreshAt != nil {
		c.least("fresh_at", *v.FreshAt, 0)
	}
	if v.Unwell != "" {
		c.text("unwell", v.Unwell, textLimit)
	}
	if v.Refused == nil {
		return
	}
	if v.Refused.Digest != "" {
		c.digest("refused.digest", v.Refused.Digest)
	}
	c.text("refused.why", v.Refused.Why, textLimit)
}

func checkHelloAnswer(v HelloAnswer, r *document.Reading) {
	c := checker{r}
	c.id("mesh", v.Mesh)
	c.id("node", v.Node)
	c.least("counter", v.Counter, 1)
	c.least("at", v.At, 0)
	if v.Declaration != nil {
		c.envelope("declaration", *v.Declaration)
		if v.Current {
			c.FaultKey("declaration", "want one of them", "current, and a declaration that is not")
		}
	}
	if v.Keys != nil {
		c.envelope("keys", *v.Keys)
	}
	c.text("why", v.Why, textLimit)
}

func checkReceipt(v Receipt, r *document.Reading) {
	c := checker{r}
	c.id("mesh", v.Mesh)
	c.id("to", v.To)
	if v.For == "" || len(v.For) > wordLimit {
		c.Fault("for", "want a sequence or a request's id", "it has %d bytes", len(v.For))
	}
	c.least("at", v.At, 0)
	c.text("stop", v.Stop, textLimit)
}

func checkWork(v Work, r *document.Reading) {
	c := checker{r}
	c.id("mesh", v.Mesh)
	c.id("builder", v.Builder)
	c.least("counter", v.Counter, 1)
	c.text("version", v.Version, wordLimit)
	c.text("platform", v.Platform, wordLimit)
	c.text("sandbox", v.Sandbox, textLimit)
	c.text("unwell", v.Unwell, textLimit)
	c.text("lacks", v.Lacks, textLimit)
	c.speaks(v.Speaks)
}

func checkWorkAnswer(v WorkAnswer, r *document.Reading) {
	c := checker{r}
	c.id("mesh", v.Mesh)
	c.id("builder", v.Builder)
	c.least("counter", v.Counter, 1)
	c.least("at", v.At, 0)
	c.least("lease", v.Lease, 0)
	if v.Request != nil {
		c.envelope("request", *v.Request)
		c.least("lease", v.Lease, 1)
	}
	if v.Keys != nil {
		c.envelope("keys", *v.Keys)
	}
}

func checkWorking(v Working, r *document.Reading) {
	c := checker{r}
	c.id("mesh", v.Mesh)
	c.id("builder", v.Builder)
	if v.Request == "" || len(v.Request) > wordLimit {
		c.Fault("request", "want a request's id", "it has %d bytes", len(v.Request))
	}
	c.least("offset", v.Offset, 0)
	c.text("log", v.Log, logLimit)
	c.text("step", v.Step, stepLimit)
	c.least("elapsed", v.Elapsed, 0)
}

func (c checker) id(path, id string) {
	if !mesh.ValidID(id) {
		c.Fault(path, "want 8 to 32 lower-case letters and digits", "it is not an id")
	}
}

func (c checker) least(path string, n, least int64) {
	if n < least {
		c.Fault(path, "want "+strconv.FormatInt(least, 10)+" or more", "it is %d", n)
	}
}

func (c checker) text(path, s string, most int) {
	if len(s) > most {
		c.Fault(path, "want at most "+strconv.Itoa(most), "%d bytes", len(s))
	}
}

func (c checker) digest(path string, d document.Digest) {
	if !d.Valid() {
		c.Fault(path, "want sha256: and 64 lower-case hexadecimal digits", "it is not a digest")
	}
}

// tuple checks that there is a declaration, or none at all.
func (c checker) tuple(path string, t declaration.Tuple) {
	if t == (declaration.Tuple{}) {
		return
	}
	c.least(path+".epoch", t.Epoch, 1)
	c.least(path+".generation", t.Generation, 1)
	c.digest(path+".digest", t.Digest)
}

func (c checker) speaks(formats []int) {
	if len(formats) == 0 || len(formats) > speaksLimit {
		c.Fault("speaks", "want 1 to "+strconv.Itoa(speaksLimit), "%d formats", len(formats))
	}
	for i, f := range formats {
		c.least(document.At("speaks", i), int64(f), 1)
	}
}

// envelope checks what can be seen before any signature is tried. At path it is
// part of a message; the empty path is an envelope by itself.
func (c checker) envelope(path string, e Envelope) {
	if len(e.PayloadType) == 0 || len(e.PayloadType) > wordLimit {
		c.Fault(document.Join(path, "payloadType"), "want the type of what is in it", "it has %d bytes", len(e.PayloadType))
	}
	if len(e.Signatures) == 0 || len(e.Signatures) > SignatureLimit {
		c.Fault(document.Join(path, "signatures"), "want 1 to "+strconv.Itoa(SignatureLimit), "%d signatures", len(e.Signatures))
	}
}
