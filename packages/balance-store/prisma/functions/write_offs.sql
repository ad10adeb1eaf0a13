-- What must be written off of each charge, so that no guarded one takes its key's balance below zero
-- or into money that is held for other requests. Zero for charges that are not guarded.
--
-- A charge is guarded if the gateway says so or if its request has a hold. A guarded charge may take its
-- own live hold and whatever no other live hold covers. Returns one amount per charge, in the order
-- given; zero for charges that are in the ledger already and for repeats within the batch.
--
-- To be called while the keys' rows are locked and before the holds of the charges are deleted.
CREATE OR REPLACE FUNCTION "write_offs"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_guarded" BOOLEAN[]
) RETURNS NUMERIC[]
LANGUAGE plpgsql VOLATILE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  written_off NUMERIC[] := array_fill(0::NUMERIC, ARRAY[cardinality("p_ids")]);
  charge RECORD;
  of_key TEXT;
  balance_left NUMERIC;
  held_by_others NUMERIC;
  affordable NUMERIC;
BEGIN
  FOR charge IN
    SELECT p."id", p."key_id", p."amount", p."ordinal", k."balance",
      p."guarded" OR h."request_id" IS NOT NULL AS is_guarded,
      CASE WHEN h."orphaned_at" IS NULL THEN coalesce(h."amount", 0) ELSE 0 END AS own_hold
    FROM (
      SELECT u.*, min(u."ordinal") OVER (PARTITION BY u."id") AS first_ordinal
      FROM unnest("p_ids", "p_key_ids", "p_amounts", "p_guarded")
        WITH ORDINALITY AS u ("id", "key_id", "amount", "guarded", "ordinal")
    ) p
    JOIN "api_key" k ON k."id" = p."key_id"
    LEFT JOIN "hold" h ON h."request_id" = p."id" AND h."key_id" = p."key_id"
    WHERE p."ordinal" = p."first_ordinal"
      AND NOT EXISTS (SELECT FROM "ledger" l WHERE l."id" = p."id")
    ORDER BY p."key_id", p."ordinal"
  LOOP
    IF charge."key_id" IS DISTINCT FROM of_key THEN
      of_key := charge."key_id";
      balance_left := charge."balance";
      SELECT coalesce(sum(h."amount"), 0) INTO held_by_others FROM "hold" h
        WHERE h."key_id" = of_key AND h."orphaned_at" IS NULL;
    END IF;
    held_by_others := held_by_others - charge.own_hold;
    IF charge.is_guarded THEN
      -- Without unguarded charges of the same key, the first two are the same.
      affordable := greatest(0,
        least(balance_left, greatest(charge.own_hold, balance_left - held_by_others)));
      written_off[charge."ordinal"] := greatest(0, charge."amount" - affordable);
    END IF;
    balance_left := balance_left - charge."amount" + written_off[charge."ordinal"];
  END LOOP;
  RETURN written_off;
END
$$;
