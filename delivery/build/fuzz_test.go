package build_test

import (
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/document/documenttest"
)

func FuzzDecodeRequest(f *testing.F) {
	documenttest.Fuzz(f, documenttest.Codec[build.Request]{Decode: build.DecodeRequest, Encode: build.Request.Encode},
		4, documenttest.Seeds(f, "testdata/v1/*.json")...)
}

func FuzzDecodeAnswer(f *testing.F) {
	documenttest.Fuzz(f, documenttest.Codec[build.Answer]{Decode: build.DecodeAnswer, Encode: build.Answer.Encode},
		4, documenttest.Seeds(f, "testdata/v1/*.json")...)
}
