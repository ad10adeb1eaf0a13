-- The parts of each charge of a batch that reserves pay, because the budgets that count the charge
-- have too little left: as JSON, null where there are none; empty if no account has chains. Charges
-- are split in the order of the batch. src/ledger/rules/chains.ts has the same rule.
--
-- Call it while the accounts' rows are locked, before the charges are inserted.
CREATE OR REPLACE FUNCTION "split_charges"(
  "p_ids" TEXT[], "p_key_ids" TEXT[], "p_amounts" NUMERIC[], "p_spender_ids" TEXT[],
  "p_moment" TIMESTAMPTZ
) RETURNS TEXT[]
LANGUAGE plpgsql STABLE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  one RECORD;
  head RECORD;
  link "budget"%ROWTYPE;
  payer "budget"%ROWTYPE;
  -- What the charges of this batch have added, by budget and subject.
  added JSONB := '{}';
  -- What this charge adds to reserves.
  paid JSONB;
  parts JSONB;
  all_parts TEXT[] := array_fill(NULL::TEXT, ARRAY[cardinality("p_ids")]);
  part NUMERIC(38, 14);
  rest NUMERIC;
  place TEXT;
BEGIN
  IF NOT EXISTS (
    SELECT FROM "budget" b
    JOIN "api_key" k ON k."account_id" = b."account_id"
    WHERE k."id" = ANY ("p_key_ids") AND b."then_id" IS NOT NULL AND b."ended_seq" IS NULL
  ) THEN
    RETURN '{}';
  END IF;
  FOR one IN
    SELECT p."ordinal", p."key_id", p."amount", k."account_id",
      jsonb_strip_nulls(jsonb_build_object('memberId', s."member_id", 'groups', s."groups",
        'tag', s."tag", 'run', s."run")) AS "spender"
    FROM unnest("p_ids", "p_key_ids", "p_amounts") WITH ORDINALITY
      AS p ("id", "key_id", "amount", "ordinal")
    JOIN "api_key" k ON k."id" = p."key_id"
    LEFT JOIN "spender" s ON s."id" = "p_spender_ids"[p."ordinal"]
    -- One that repeats an earlier one is not booked.
    WHERE array_position("p_ids", p."id") = p."ordinal"
      AND NOT EXISTS (SELECT FROM "ledger" l WHERE l."id" = p."id")
    ORDER BY p."ordinal"
  LOOP
    parts := '[]';
    paid := '{}';
    FOR head IN
      SELECT b, c."subject" FROM "budget" b
      CROSS JOIN LATERAL (
        SELECT "budget_subject"(b, one."key_id", one."spender") AS "subject"
      ) c
      WHERE b."account_id" = one."account_id" AND b."ended_seq" IS NULL
        AND b."then_id" IS NOT NULL AND c."subject" IS NOT NULL
        AND "budget_start"(b, "p_moment") IS NOT NULL
      ORDER BY b."id"
    LOOP
      link := head."b";
      place := link."id" || ' ' || head."subject";
      part := least(one."amount", greatest(0, "budget_left"(link, head."subject", "p_moment")
        - coalesce((added ->> place)::NUMERIC, 0)));
      SELECT n.* INTO payer FROM "next_budget"(link, "p_moment") n;
      IF NOT FOUND THEN
        part := one."amount";
      END IF;
      added := jsonb_set(added, ARRAY[place], to_jsonb(coalesce((added ->> place)::NUMERIC, 0) + part));
      rest := one."amount" - part;
      WHILE rest > 0 LOOP
        link := payer;
        SELECT n.* INTO payer FROM "next_budget"(link, "p_moment") n;
        part := CASE WHEN payer."id" IS NULL THEN rest ELSE
          least(rest, greatest(0, "budget_left"(link, '', "p_moment")
            - coalesce((added ->> (link."id" || ' '))::NUMERIC, 0))) END;
        rest := rest - part;
        CONTINUE WHEN part = 0;
        parts := parts || jsonb_build_array(
          jsonb_build_array((head."b")."id", link."id", part::TEXT));
        paid := jsonb_set(paid, ARRAY[link."id"], to_jsonb(
          greatest(part, coalesce((paid ->> link."id")::NUMERIC, 0))));
      END LOOP;
    END LOOP;
    FOR place, part IN SELECT e."key" || ' ', e."value"::NUMERIC FROM jsonb_each_text(paid) e LOOP
      added := jsonb_set(added, ARRAY[place], to_jsonb(coalesce((added ->> place)::NUMERIC, 0) + part));
    END LOOP;
    all_parts[one."ordinal"] := nullif(parts, '[]')::TEXT;
  END LOOP;
  RETURN all_parts;
END
$$;
