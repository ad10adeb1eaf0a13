-- An account may have prices of its own: a factor, or the name of a table. The gateway knows what
-- they mean, and reads them with the key of each request.

ALTER TABLE account ADD COLUMN prices TEXT;
