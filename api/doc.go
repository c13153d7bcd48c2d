// Package api is the questions and answers between controller, CLI and board: one table of calls, and the client.
//
// A call is one row: its name, method, path, the least role that may make it,
// and the types of what goes in and what comes out. The server's routes and
// their role check, the client, and the OpenAPI description are all made from
// the row, so that none of them can say something else.
package api
