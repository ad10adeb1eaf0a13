-- Refuses to delete entries, except charges whose sums are in "ledger_carry".
CREATE OR REPLACE FUNCTION "refuse_uncarried"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD."kind" = 'charge' AND OLD."seq" <= (
    SELECT c."to_seq" FROM "ledger_carry" c
    WHERE c."account_id" = OLD."account_id" AND c."from_seq" <= OLD."seq"
    ORDER BY c."from_seq" DESC LIMIT 1
  ) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% on % is refused: corrections are new entries', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;
