-- Refuses to delete entries, except charges whose sums an archive carries, and to delete sums,
-- except those of an archive that was never recorded: until then they count for nothing.
CREATE OR REPLACE FUNCTION "refuse_uncarried"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'ledger_carry' THEN
    IF NOT EXISTS (SELECT FROM "ledger_archive" WHERE "id" = OLD."archive_id") THEN
      RETURN OLD;
    END IF;
    RAISE EXCEPTION '% on % is refused: an archive is final', TG_OP, TG_TABLE_NAME
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF OLD."kind" = 'charge' AND OLD."seq" <= (
    SELECT c."to_seq" FROM "ledger_carry" c
    WHERE c."account_id" = OLD."account_id" AND c."from_seq" <= OLD."seq"
      AND c."archive_id" <= (SELECT max("id") FROM "ledger_archive")
    ORDER BY c."from_seq" DESC LIMIT 1
  ) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% on % is refused: corrections are new entries', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;
