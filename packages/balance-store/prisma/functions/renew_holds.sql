-- Extends the live holds of these requests, and marks all expired holds as orphaned. Skips rows
-- that a charge has locked, because the charge deletes them. Returns how many holds it marked.
CREATE OR REPLACE FUNCTION "renew_holds"("p_ids" TEXT[], "p_lifetime" INTERVAL) RETURNS INTEGER
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  orphaned INTEGER;
BEGIN
  UPDATE "hold" SET "expires_at" = clock_timestamp() + "p_lifetime"
    WHERE "request_id" IN (
      SELECT "request_id" FROM "hold"
      WHERE "request_id" = ANY ("p_ids") AND "orphaned_at" IS NULL
      FOR UPDATE SKIP LOCKED
    );
  UPDATE "hold" SET "orphaned_at" = clock_timestamp()
    WHERE "request_id" IN (
      SELECT "request_id" FROM "hold"
      WHERE "orphaned_at" IS NULL AND "expires_at" <= clock_timestamp()
      FOR UPDATE SKIP LOCKED
    );
  GET DIAGNOSTICS orphaned = ROW_COUNT;
  RETURN orphaned;
END
$$;
