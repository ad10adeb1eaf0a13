-- The digest of one ledger entry that a seal contains: every column, in a fixed order.
CREATE OR REPLACE FUNCTION "entry_digest"(l "ledger") RETURNS BYTEA
LANGUAGE sql STABLE AS $$
  SELECT substr(sha256(convert_to(
    "sealed_field"(l."id") || "sealed_field"(l."account_id") || "sealed_field"(l."seq"::TEXT)
    || "sealed_field"(l."kind") || "sealed_field"(l."delta"::TEXT)
    || "sealed_field"(l."balance_after"::TEXT) || "sealed_field"(l."written_off"::TEXT)
    || "sealed_field"(l."over_cap"::TEXT)
    || "sealed_field"(encode(l."input_hash", 'hex'))
    || "sealed_moment"(l."created_at") || "sealed_field"(l."key_id")
    || "sealed_field"(l."model")
    || "sealed_field"(l."input_tokens"::TEXT) || "sealed_field"(l."output_tokens"::TEXT)
    || "sealed_field"(l."cache_read_input_tokens"::TEXT)
    || "sealed_field"(l."cache_creation_input_tokens"::TEXT)
    || "sealed_field"(l."cache_creation_1h_input_tokens"::TEXT)
    || "sealed_field"(l."input_rate"::TEXT) || "sealed_field"(l."output_rate"::TEXT)
    || "sealed_field"(l."cache_read_rate"::TEXT) || "sealed_field"(l."cache_write_5m_rate"::TEXT)
    || "sealed_field"(l."cache_write_1h_rate"::TEXT) || "sealed_field"(l."endpoint")
    || "sealed_field"(l."streamed"::TEXT) || "sealed_field"(l."upstream_id")
    || "sealed_field"(l."upstream_account")
    || "sealed_field"(l."remarks") || "sealed_field"(l."actor")
    || "sealed_field"(l."source") || "sealed_moment"(l."expires_at")
    || "sealed_field"(l."reason") || "sealed_field"(l."reference")
    || "sealed_field"(l."note_id"),
    'UTF8')), 1, 16)
$$;
