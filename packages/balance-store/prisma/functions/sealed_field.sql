-- One field of a text that is hashed, preceded by its length in bytes, so that two different lists
-- of fields never give the same text.
--
-- PostgreSQL inlines a SQL function into the calling query only if the function is not declared
-- more stable than the expressions in its body. Without inlining, one call per field of each entry
-- would take thirty times as long. So the number is cast explicitly: `integer || text` is only
-- stable, but `text || text` is immutable.
CREATE OR REPLACE FUNCTION "sealed_field"("p_text" TEXT) RETURNS TEXT
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(octet_length("p_text")::TEXT || ':' || "p_text" || ',', '-,')
$$;
