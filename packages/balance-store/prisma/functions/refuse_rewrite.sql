-- Refuses the statement that fired the trigger. Rows of append-only tables are never updated, and
-- no account or key is deleted. Archived charges may be deleted from "ledger": see
-- refuse_uncarried.
CREATE OR REPLACE FUNCTION "refuse_rewrite"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% on % is refused: what was recorded is never rewritten', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;
