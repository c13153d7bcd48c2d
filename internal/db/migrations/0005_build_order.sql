-- +goose Up

-- The order in which builds were recorded: a clock that was wrong puts them in another.
ALTER TABLE build ADD COLUMN sequence bigint NOT NULL DEFAULT 0;
UPDATE build SET sequence = (SELECT count(*) FROM build o WHERE o.at < build.at OR (o.at = build.at AND o.id <= build.id));
