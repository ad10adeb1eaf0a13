-- Refuses the statement of its trigger. Append-only tables are never changed, and no account or key
-- is deleted.
CREATE OR REPLACE FUNCTION "refuse_rewrite"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% on % is refused: what was recorded is never rewritten', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;
