-- The time of new entries of accounts whose last entry is of this time: a clock that was set back counts
-- no further than that, and no entry gets into a closed month. Call it when the accounts are locked.
CREATE OR REPLACE FUNCTION "entry_time"("p_last" TIMESTAMPTZ) RETURNS TIMESTAMPTZ
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  -- Rounded here and not where it is stored, so that all columns have the same time.
  RETURN greatest(clock_timestamp()::TIMESTAMPTZ(3), "p_last",
    (SELECT max(m."until_at") FROM "closed_month" m));
END
$$;
