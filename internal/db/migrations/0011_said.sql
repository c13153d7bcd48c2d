-- +goose Up

-- What the code of a folder says is kept in a form of its own from here on, of
-- which the names can be read without the rest; what was kept before, as JSON, is
-- read as well for as long as a source is at it. No table changes: the number of
-- the schema keeps an older program from a record that it could not read.
SELECT 1;
