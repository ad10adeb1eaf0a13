-- Whether somebody can be written to about a budget: its account's address for notices, the member whose
-- budget it is, or the contact of a budget of many. `src/embedded/sqlite/budgets.ts` has the same rule.
CREATE OR REPLACE FUNCTION "budget_has_address"("p_budget" TEXT, "p_subject" TEXT)
RETURNS BOOLEAN LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM "budget" b
    JOIN "account" a ON a."id" = b."account_id"
    CROSS JOIN LATERAL (SELECT coalesce(nullif("p_subject", ''), b."subject") AS "id") s
    WHERE b."id" = "p_budget"
      AND (
        a."notice_email" IS NOT NULL
        OR CASE b."scope"
          WHEN 'member' THEN EXISTS (
            SELECT FROM "member" m WHERE m."id" = s."id" AND m."email" IS NOT NULL)
          WHEN 'key' THEN EXISTS (
            SELECT FROM "api_key" k JOIN "member" m ON m."id" = k."member_id"
            WHERE k."id" = s."id" AND m."email" IS NOT NULL)
          ELSE strpos(b."contact", '@') > 0
        END
      )
  )
$$;
