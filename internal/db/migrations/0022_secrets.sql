-- +goose Up

-- The values of secrets, each sealed to the key of the node that it is for. What they
-- are stands nowhere, and no hash of it. Applied is the version that the node has last
-- reported to have in all its files that have the secret in them; 0: none.
CREATE TABLE secret (
    node       text   NOT NULL REFERENCES node (id),
    module     text   NOT NULL,
    name       text   NOT NULL,
    version    bigint NOT NULL,
    sealed     text   NOT NULL,
    set_by     text   NOT NULL,
    set_at     bigint NOT NULL,
    applied    bigint NOT NULL,
    applied_at bigint NOT NULL,
    PRIMARY KEY (node, module, name)
);
CREATE INDEX secret_module ON secret (module, name);

-- What of a declaration has secrets in it, as JSON: by the id of a file its digest, and which version of each.
ALTER TABLE ledger ADD COLUMN secrets text NOT NULL DEFAULT '';
