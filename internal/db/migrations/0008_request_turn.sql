-- +goose Up

-- The order in which requests were asked for and given, as the revision of the record in which that was: a clock that was
-- wrong, or set back, puts them in another, and a module that was served by a clock that was ahead would wait until then.
ALTER TABLE request ADD COLUMN asked_in bigint NOT NULL DEFAULT 0;
ALTER TABLE request ADD COLUMN given_in bigint NOT NULL DEFAULT 0;
DROP INDEX request_module;
CREATE INDEX request_module ON request (module, given_in);
