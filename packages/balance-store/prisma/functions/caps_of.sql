-- The caps of a key, each with what the key has used since the cap's window began. Write-offs count
-- as used, so that a key cannot cause the same loss again and again. A window that begins later than
-- now counts: the clock was set back since the key was charged.
CREATE OR REPLACE FUNCTION "caps_of"("p_key" "api_key", "p_moment" TIMESTAMPTZ)
RETURNS TABLE ("period" TEXT, "cap" NUMERIC, "used" NUMERIC)
LANGUAGE sql STABLE AS $$
  SELECT c."period", c."cap",
    CASE WHEN c."window_start" >= c."this_window"
      THEN "p_key"."spent" + "p_key"."written_off" - c."base" ELSE 0 END
  FROM (
    SELECT "day_of"("p_moment") AS "today", "month_start"("p_moment") AS "this_month"
  ) t
  CROSS JOIN LATERAL (VALUES
    ('day', "p_key"."cap_day", "p_key"."day_start", t."today", "p_key"."day_base"),
    ('week', "p_key"."cap_week", "p_key"."week_start", t."today" - (t."today" + 3) % 7,
      "p_key"."week_base"),
    ('month', "p_key"."cap_month", "p_key"."month_start", t."this_month", "p_key"."month_base"),
    ('total', "p_key"."cap_total", 0, 0, 0::NUMERIC)
  ) AS c ("period", "cap", "window_start", "this_window", "base")
  WHERE c."cap" IS NOT NULL
$$;
