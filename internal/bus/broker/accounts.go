package broker

import (
	"math"
	"time"

	"github.com/nats-io/jwt/v2"

	mesh "noxmesh"
	"noxmesh/internal/bus"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

const (
	// payloadLimit holds a declaration of its largest size, signed, inside a signed answer.
	payloadLimit = 8 << 20
	// A node listens on two subjects; more than these is somebody looking around.
	subscriptionLimit = 16
	// How long after a request its answer may come. A builder's wait for work ends well before.
	answerWindow = 90 * time.Second
	// controllerID is the name of the mesh's one user.
	controllerID = "controller"
)

// never is the time before which a revoked key's permissions count for nothing:
// all of them, whenever they were or will be given out.
const never = math.MaxInt64

// UserJWT is the permission of the user with this public key to be id on this
// side, and nothing more. A name that is not an id is refused: it becomes part
// of the subjects, and a wildcard there would be everybody's.
func (k Keys) UserJWT(side link.Side, id, public string) (string, error) {
	if side != link.Nodes && side != link.Builders {
		return "", fault.New(fault.Denied, "nobody joins the broker's account %q", string(side))
	}
	return k.userJWT(side, id, public)
}

func (k Keys) userJWT(side link.Side, id, public string) (string, error) {
	if !mesh.ValidID(id) {
		return "", fault.New(fault.Invalid, "%q cannot be a broker user: want an id of 8 to 32 lower-case letters and digits", id)
	}
	if !bus.ValidPublic(public) {
		return "", fault.New(fault.Invalid, "%q is not the public half of a broker user's key", public)
	}
	account, signer, err := k.form.Accounts[side].open()
	if err != nil {
		return "", err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name = id
	claims.IssuerAccount = account.public
	claims.UserPermissionLimits = jwt.UserPermissionLimits{} // all of it is the signing key's scope
	token, err := claims.Encode(signer.pair)
	if err != nil {
		return "", fault.Wrap(fault.Broken, err, "give %q its broker permission", id)
	}
	return token, nil
}

// operator is the root of the broker's trust: whatever it did not sign is no account.
func (k Keys) operator() (*jwt.OperatorClaims, error) {
	identity, signer, err := k.form.Operator.open()
	if err != nil {
		return nil, err
	}
	sys, _, err := k.form.Accounts[system].open()
	if err != nil {
		return nil, err
	}
	claims := jwt.NewOperatorClaims(identity.public)
	claims.Name = "mesh"
	claims.SigningKeys.Add(signer.public)
	claims.StrictSigningKeyUsage = true
	claims.SystemAccount = sys.public
	token, err := claims.Encode(identity.pair)
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "sign the broker's operator")
	}
	return jwt.DecodeOperatorClaims(token)
}

// account is one side's account as the table of link has it, with its revoked keys.
func (k Keys) account(side link.Side, revoked map[string]bool) (*jwt.AccountClaims, error) {
	identity, signer, err := k.form.Accounts[side].open()
	if err != nil {
		return nil, err
	}
	claims := jwt.NewAccountClaims(identity.public)
	claims.Name = string(side)
	claims.Limits.DisallowBearer = true
	claims.Limits.LeafNodeConn = 0
	for public := range revoked {
		claims.RevokeAt(public, time.Unix(never, 0))
	}
	if side == system {
		claims.SigningKeys.Add(signer.public)
		return claims, nil
	}
	claims.SigningKeys.AddScopedSigner(scope(side, signer.public))
	mesh, _, err := k.form.Accounts[link.Mesh].open()
	if err != nil {
		return nil, err
	}
	for _, row := range link.Subjects() {
		every, err := link.Every(row.Verb)
		if err != nil {
			return nil, err
		}
		kind := jwt.Service
		if row.Push {
			kind = jwt.Stream
		}
		if side == link.Mesh {
			claims.Exports.Add(&jwt.Export{Name: string(row.Verb), Subject: jwt.Subject(every), Type: kind})
		}
		if side == row.Far() {
			claims.Imports.Add(&jwt.Import{Name: string(row.Verb), Subject: jwt.Subject(every), Account: mesh.public, Type: kind})
		}
	}
	return claims, nil
}

// scope is all that a user of this side can ever be given: the key that signs
// its users can sign nothing else.
func scope(side link.Side, key string) *jwt.UserScope {
	publish, subscribe := link.Permissions(side, link.Anyone)
	s := jwt.NewUserScope()
	s.Key, s.Role = key, string(side)
	s.Template.Pub.Allow.Add(publish...)
	s.Template.Sub.Allow.Add(subscribe...)
	s.Template.Payload = payloadLimit
	s.Template.Subs = subscriptionLimit
	s.Template.AllowedConnectionTypes.Add(jwt.ConnectionTypeStandard)
	if side == link.Mesh {
		s.Template.Resp = &jwt.ResponsePermission{MaxMsgs: 1, Expires: answerWindow}
		s.Template.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeInProcess}
	}
	return s
}

// sign is the account as the broker takes it; claims say afterwards who signed them.
func (k Keys) sign(claims *jwt.AccountClaims) (string, error) {
	_, signer, err := k.form.Operator.open()
	if err != nil {
		return "", err
	}
	token, err := claims.Encode(signer.pair)
	if err != nil {
		return "", fault.Wrap(fault.Broken, err, "sign the broker's account %q", claims.Name)
	}
	return token, nil
}
