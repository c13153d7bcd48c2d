// Package manners is how other people's servers are asked: each by few at once, and none before the time that it has named.
//
// The law: nobody waits here. Whoever comes at the wrong time is told when to come
// again, so that no host can take up whoever is to ask another; those who were sent
// away come one after the other, as fast as the host has answered, and not at once.
package manners
