-- The networks from which a key may be used; null for all.

ALTER TABLE "api_key" ADD COLUMN "allowed_networks" JSONB;
