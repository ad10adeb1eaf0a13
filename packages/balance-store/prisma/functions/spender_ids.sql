-- The ids under which charges are attributed to their spenders, null for those that have none. Inserts
-- the spenders that are new. Call it while the accounts' rows are locked.
--
-- An account without a salt is erased: its charges have no tags and runs any more.
--
-- An account has at most "p_most" spenders with tags or runs of their own; further ones are counted
-- together, as 'other'.
CREATE OR REPLACE FUNCTION "spender_ids"("p_key_ids" TEXT[], "p_spenders" JSONB[], "p_most" INTEGER)
RETURNS TEXT[]
LANGUAGE plpgsql VOLATILE
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  one RECORD;
  own_labels TEXT;
  own_id TEXT;
  last_number INTEGER;
  ids TEXT[] := array_fill(NULL::TEXT, ARRAY[cardinality("p_key_ids")]);
BEGIN
  FOR one IN
    SELECT p."ordinal", a."id" AS "account_id", a."label_salt", p."spender" ->> 'memberId' AS "member_id",
      p."spender" ->> 'groups' AS "groups",
      CASE WHEN a."label_salt" <> '' THEN p."spender" ->> 'tag' END AS "tag",
      CASE WHEN a."label_salt" <> '' THEN p."spender" ->> 'run' END AS "run"
    FROM unnest("p_key_ids", "p_spenders") WITH ORDINALITY AS p ("key_id", "spender", "ordinal")
    JOIN "api_key" k ON k."id" = p."key_id"
    JOIN "account" a ON a."id" = k."account_id"
    WHERE p."spender" IS NOT NULL
  LOOP
    FOR attempt IN 1 .. 2 LOOP
      own_labels := CASE WHEN coalesce(one."tag", one."run") IS NOT NULL
        THEN "spender_digest"('labels', one."label_salt", one."tag", one."run") END;
      own_id := "spender_digest"('spender', one."account_id", one."member_id", one."groups", own_labels);
      EXIT WHEN EXISTS (SELECT FROM "spender" s WHERE s."id" = own_id);
      SELECT coalesce(max(s."number"), 0) INTO last_number FROM "spender" s
        WHERE s."account_id" = one."account_id";
      IF last_number < "p_most" OR attempt = 2 OR own_labels IS NULL THEN
        INSERT INTO "spender" ("id", "account_id", "number", "member_id", "groups", "labels", "tag", "run")
          VALUES (own_id, one."account_id", last_number + 1, one."member_id", one."groups",
            own_labels, one."tag", one."run");
        EXIT;
      END IF;
      one."tag" := CASE WHEN one."tag" IS NOT NULL THEN 'other' END;
      one."run" := CASE WHEN one."run" IS NOT NULL THEN 'other' END;
    END LOOP;
    ids[one."ordinal"] := own_id;
  END LOOP;
  RETURN ids;
END
$$;
