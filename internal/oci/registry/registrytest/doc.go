// Package registrytest is another's registry for tests: a plain one, with a login and tags and no list of referrers, and whatever goes wrong in front.
package registrytest
