// Package imagetest is a registry of images for tests: the embedded one, with tags, tokens and whatever goes wrong in front.
package imagetest
