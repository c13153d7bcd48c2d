-- +goose Up

-- The digest of the OCI manifest that says what a build was made of, by the builder that answered,
-- verified before the answer was committed; empty: the builder was of a version that says nothing of it.
ALTER TABLE answer ADD COLUMN provenance text NOT NULL DEFAULT '';
