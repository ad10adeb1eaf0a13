-- An account may have an allowance: a free credit of each month, which expires at its end. The index
-- finds those whose last one is of an earlier month.

ALTER TABLE account ADD COLUMN allowance TEXT;
ALTER TABLE account ADD COLUMN allowance_start INTEGER NOT NULL DEFAULT 0;
CREATE INDEX account_allowance ON account (allowance_start, id) WHERE allowance IS NOT NULL;
