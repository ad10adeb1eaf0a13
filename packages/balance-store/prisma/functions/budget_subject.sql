-- For whom a charge of this key and spender counts in a budget: empty for a budget of one subject,
-- otherwise the id or the text of its own subject; null if it does not count. The spender is JSON with
-- "memberId", "groups", "tag" and "run". src/ledger/rules/budgets.ts has the same rule.
CREATE OR REPLACE FUNCTION "budget_subject"("b" "budget", "p_key" TEXT, "p_spender" JSONB)
RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    -- A reserve counts only what chains pass to it.
    WHEN b."counts" IS NOT NULL THEN NULL
    WHEN b."only_for" <> coalesce("p_spender" ->> 'memberId', "p_key") THEN NULL
    WHEN b."within_group" IS NOT NULL
      AND coalesce(strpos("p_spender" ->> 'groups', '/' || b."within_group" || '/'), 0) = 0 THEN NULL
    WHEN b."scope" = 'account' THEN ''
    WHEN b."scope" = 'group' THEN
      CASE WHEN strpos("p_spender" ->> 'groups', '/' || b."subject" || '/') > 0 THEN '' END
    WHEN b."scope" = 'key' THEN
      CASE WHEN b."subject" IS NULL THEN "p_key" WHEN b."subject" = "p_key" THEN '' END
    -- The other scopes are members of the spender.
    WHEN b."subject" IS NULL THEN
      "p_spender" ->> CASE b."scope" WHEN 'member' THEN 'memberId' ELSE b."scope" END
    WHEN b."subject" = "p_spender" ->> CASE b."scope" WHEN 'member' THEN 'memberId' ELSE b."scope" END
      THEN ''
  END
$$;
