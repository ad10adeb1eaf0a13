-- How much of each charge must be written off, so that no guarded charge takes its account's
-- balance below zero, or takes money that is held for other requests. Caps do not count here: they
-- refuse requests before they are sent, and a holder may change them while a request runs.
--
-- A charge is guarded if "p_guarded" says so or if its request has a hold. As far as the balance
-- covers it, a guarded charge may take the money that no other live hold covers, and at least its
-- own live hold. Returns one amount per charge, in the order given. It is zero for charges that are
-- not guarded, that are in the ledger already, or that repeat an earlier charge of the batch.
--
-- Call it while the accounts' rows are locked and before the holds of the charges are deleted.
CREATE OR REPLACE FUNCTION "write_offs"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_guarded" BOOLEAN[]
) RETURNS NUMERIC[]
LANGUAGE plpgsql VOLATILE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  charge RECORD;
  of_account TEXT;
  balance_left NUMERIC;
  held_by_others NUMERIC;
  by_balance NUMERIC;
  written_off NUMERIC[] := array_fill(0::NUMERIC, ARRAY[cardinality("p_ids")]);
BEGIN
  FOR charge IN
    SELECT p."id", k."account_id", p."amount", p."ordinal", a."balance",
      p."guarded" OR h."request_id" IS NOT NULL AS is_guarded,
      CASE WHEN h."orphaned_at" IS NULL THEN coalesce(h."amount", 0) ELSE 0 END AS own_hold
    FROM (
      SELECT u.*, min(u."ordinal") OVER (PARTITION BY u."id") AS first_ordinal
      FROM unnest("p_ids", "p_key_ids", "p_amounts", "p_guarded")
        WITH ORDINALITY AS u ("id", "key_id", "amount", "guarded", "ordinal")
    ) p
    JOIN "api_key" k ON k."id" = p."key_id"
    JOIN "account" a ON a."id" = k."account_id"
    LEFT JOIN "hold" h ON h."request_id" = p."id" AND h."key_id" = p."key_id"
    WHERE p."ordinal" = p."first_ordinal"
      AND NOT EXISTS (SELECT FROM "ledger" l WHERE l."id" = p."id")
    ORDER BY k."account_id", p."ordinal"
  LOOP
    IF charge."account_id" IS DISTINCT FROM of_account THEN
      of_account := charge."account_id";
      balance_left := charge."balance";
      SELECT coalesce(sum(h."amount"), 0) INTO held_by_others FROM "hold" h
        WHERE h."account_id" = of_account AND h."orphaned_at" IS NULL;
    END IF;
    held_by_others := held_by_others - charge.own_hold;
    IF charge.is_guarded THEN
      -- The balance less what others hold. Unguarded charges or adjustments of the account may have
      -- lowered the balance below the sum of its holds: then the own hold counts, as far as the
      -- balance covers it.
      by_balance := greatest(0,
        least(balance_left, greatest(charge.own_hold, balance_left - held_by_others)));
      written_off[charge."ordinal"] := greatest(0, charge."amount" - by_balance);
    END IF;
    balance_left := balance_left - charge."amount" + written_off[charge."ordinal"];
  END LOOP;
  RETURN written_off;
END
$$;
