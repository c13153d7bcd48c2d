// Package dbtest runs a test on an empty record in SQLite and on one in Postgres.
//
// The Postgres is a real one, started once for a test binary, reached through a
// socket in a folder of its own, and stopped when the binary ends, however it
// ends. Where none is installed the test fails and says what to install, since
// a suite that did not run is red; MESH_TEST_NO_POSTGRES=1 leaves it out, loudly.
package dbtest
