// Command release makes the Debian package of the host, as a builder makes packages.
//
//	usr/lib/nox-mesh-host/versions/VERSION/mesh-host   the program
//	usr/lib/nox-mesh-host/installed                    leads to it
//	usr/lib/nox-mesh-host/hook                         decides before each start which version runs
//	usr/bin/mesh-host                                  the version that runs
//	usr/lib/systemd/system/nox-mesh-host.service       the unit
//
// The same program and version are the same bytes, wherever and whenever it is made.
package main
