-- An audit compares each promotional code with the trail. A row that was recorded before the trail
-- had digests of codes names its code as "code".

CREATE INDEX "trail_promo_code_idx"
  ON "trail" ((coalesce("details"::JSONB ->> 'document', "details"::JSONB ->> 'code')) COLLATE "C", "seq")
  WHERE "action" IN ('promo_code.create', 'promo_code.redeem');
