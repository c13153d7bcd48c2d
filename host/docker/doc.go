// Package docker is what docker has on a machine, and what it is asked to fetch, to take in and to remove.
//
// Its daemon is asked at its own socket, which takes no child process. Only what needs
// the machine's logins goes through the docker command: an image is fetched by its
// digest as the machine fetches any. One that comes in as a stream counts once docker
// has it and says that it is that one. Docker is given no credential by the mesh.
package docker
