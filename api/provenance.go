package api

// ProvenanceIn names a build by its module, its request, its digest, or the beginning of either.
type ProvenanceIn struct {
	Build string `json:"-" path:"build"`
}

// ProvenanceOut is what one build was made of, as its builder has signed it and the mesh has verified it.
type ProvenanceOut struct {
	Request    string   `json:"request"`
	Module     string   `json:"module"`
	Build      string   `json:"build"`
	Repository string   `json:"repository"` // of the registry, with its host
	Subject    string   `json:"subject"`    // the manifest that it is about
	Manifest   string   `json:"manifest"`   // that holds it, and is listed with the subject
	Builder    string   `json:"builder"`
	Key        string   `json:"key"` // the builder's, in PEM
	Envelope   Envelope `json:"envelope"`
}

// Envelope is a DSSE envelope as others read it: an in-toto statement, in base64, and
// who signed it.
type Envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     []byte      `json:"payload"`
	Signatures  []Signature `json:"signatures"`
}

// Signature is one signature over the payload and its type.
type Signature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}
