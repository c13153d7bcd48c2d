// Package trouble is one shape for everything that does not converge: key, fingerprint, since, count.
//
// A host's failure and a controller loop's failure are the same kind of fact.
// The same fingerprint again adds one, also where another came between; one that
// has not come since the last success begins anew; a success clears. Three alike are stuck. Stuck is what the mesh knows, not what the
// machine is told: trying goes on.
package trouble
