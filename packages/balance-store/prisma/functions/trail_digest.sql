-- The digest of one row of the trail. It covers every column, in a fixed order. A seal contains it.
CREATE OR REPLACE FUNCTION "trail_digest"(t "trail") RETURNS BYTEA
LANGUAGE sql STABLE AS $$
  SELECT substr(sha256(convert_to(
    "sealed_field"(t."seq"::TEXT) || "sealed_moment"(t."created_at") || "sealed_field"(t."actor")
    || "sealed_field"(t."address") || "sealed_field"(t."action") || "sealed_field"(t."account_id")
    || "sealed_field"(t."key_id") || "sealed_field"(t."details") || "sealed_field"(t."personal_id"),
    'UTF8')), 1, 16)
$$;
