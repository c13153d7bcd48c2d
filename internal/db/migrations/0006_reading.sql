-- +goose Up

-- What the code of a folder says, one value for each tree that a source is at:
-- what it owns and asks for, by language, as JSON.
CREATE TABLE reading (
    key  text PRIMARY KEY,
    says text NOT NULL
);
ALTER TABLE source ADD COLUMN code text NOT NULL DEFAULT '';
CREATE INDEX source_code ON source (code);
