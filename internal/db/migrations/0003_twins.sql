-- +goose Up

-- Why two machines are taken to say that they are this node; until it joins anew, nothing is declared to it.
ALTER TABLE node ADD COLUMN twins text NOT NULL DEFAULT '';
