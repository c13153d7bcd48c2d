// Package remote reads container images from other people's registries: what a name means, and bytes by digest.
//
// It asks as anybody may: without a credential, with the token that a registry
// gives to whoever asks for one. Registries are asked politely, each by few at
// once and none before the time that it has named. What is pulled is right or is
// refused: its size is a limit while reading, and the digest is checked before
// the call returns. Documents of registries are read for what is needed of them,
// and whatever else stands in them means nothing.
package remote
