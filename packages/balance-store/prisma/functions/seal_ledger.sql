-- Seals at most "p_max_entries" entries of the accounts "p_account_ids" (the id 'trail' stands for
-- the trail) as the next block of the hash chain. Returns how many it sealed; 0 also while another
-- session is sealing. Reads one range per account through the index, so the time does not grow with
-- the length of the ledger.
CREATE OR REPLACE FUNCTION "seal_ledger"("p_account_ids" TEXT[], "p_max_entries" INTEGER) RETURNS INTEGER
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  last "ledger_block"%ROWTYPE;
  this_block BIGINT;
  moment TIMESTAMPTZ(3) := clock_timestamp();
  a RECORD;
  sealed_seq BIGINT;
  until_seq BIGINT;
  sealed INTEGER := 0;
  digests BYTEA;
  ranges BYTEA := '';
BEGIN
  IF NOT pg_try_advisory_xact_lock(72707370) THEN
    RETURN 0;
  END IF;
  SELECT * INTO last FROM "ledger_block" ORDER BY "id" DESC LIMIT 1;
  this_block := coalesce(last."id", 0) + 1;

  FOR a IN
    SELECT "id", "seq" FROM "account" WHERE "id" = ANY ("p_account_ids")
    UNION ALL
    SELECT 'trail', (SELECT max(t."seq") FROM "trail" t) WHERE 'trail' = ANY ("p_account_ids")
    ORDER BY 1
  LOOP
    SELECT coalesce(max(s."to_seq"), 0) INTO sealed_seq FROM (
      SELECT "to_seq" FROM "ledger_seal" WHERE "account_id" = a."id" ORDER BY "from_seq" DESC LIMIT 1
    ) s;
    CONTINUE WHEN coalesce(a."seq", 0) <= sealed_seq;
    until_seq := least(a."seq", sealed_seq + "p_max_entries" - sealed);
    IF a."id" = 'trail' THEN
      SELECT string_agg("trail_digest"(t), '' ORDER BY t."seq") INTO digests FROM "trail" t
        WHERE t."seq" > sealed_seq AND t."seq" <= until_seq;
    ELSE
      SELECT string_agg("entry_digest"(e), '' ORDER BY e."seq") INTO digests FROM "ledger" e
        WHERE e."account_id" = a."id" AND e."seq" > sealed_seq AND e."seq" <= until_seq;
    END IF;
    IF octet_length(digests) IS DISTINCT FROM (16 * (until_seq - sealed_seq))::INTEGER THEN
      RAISE EXCEPTION 'entries of % are missing, so nothing was sealed: audit the ledger', a."id";
    END IF;
    INSERT INTO "ledger_seal" ("account_id", "from_seq", "to_seq", "block_id", "digests")
      VALUES (a."id", sealed_seq + 1, until_seq, this_block, digests);
    ranges := ranges || convert_to("sealed_field"(a."id") || "sealed_field"((sealed_seq + 1)::TEXT)
      || "sealed_field"(until_seq::TEXT), 'UTF8') || digests;
    sealed := sealed + (until_seq - sealed_seq)::INTEGER;
    EXIT WHEN sealed >= "p_max_entries";
  END LOOP;
  IF sealed = 0 THEN
    RETURN 0;
  END IF;

  INSERT INTO "ledger_block" ("id", "previous_hash", "hash", "entries", "sealed_at")
  VALUES (this_block, coalesce(last."hash", ''),
    sha256(coalesce(last."hash", '')
      || convert_to("sealed_field"(this_block::TEXT) || "sealed_field"(sealed::TEXT)
        || "sealed_moment"(moment), 'UTF8')
      || ranges),
    sealed, moment);
  RETURN sealed;
END
$$;
