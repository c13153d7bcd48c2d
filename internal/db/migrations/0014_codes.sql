-- +goose Up

-- Which reading each module is at is read of all of them at each start: the index
-- has the module too, so that no source need be looked at. What the code of a folder
-- says has had a checksum since, and its names what they do not have in common alone.
DROP INDEX source_code;
CREATE INDEX source_code ON source (code, module);
