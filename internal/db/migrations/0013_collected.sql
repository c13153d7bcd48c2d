-- +goose Up

-- When the bytes of a build were taken away from the registry, since nothing named it; 0: they were not.
ALTER TABLE build ADD COLUMN collected bigint NOT NULL DEFAULT 0;

-- What each declaration that was issued amounts to, module by module, as JSON: what a node may still fetch.
ALTER TABLE ledger ADD COLUMN contents text NOT NULL DEFAULT '{}';

-- When a module left: what it had published stays for a while.
CREATE TABLE module_left (
    name text   PRIMARY KEY,
    at   bigint NOT NULL
);
