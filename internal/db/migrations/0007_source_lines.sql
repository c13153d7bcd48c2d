-- +goose Up

-- Where the source manifest says what the module needs of others, as JSON.
ALTER TABLE source ADD COLUMN lines text NOT NULL DEFAULT '{}';
