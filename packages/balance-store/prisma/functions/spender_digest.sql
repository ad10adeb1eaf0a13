-- The digest that names a spender or its labels, as in src/ledger/rows/spenders.ts.
CREATE OR REPLACE FUNCTION "spender_digest"(VARIADIC "p_parts" TEXT[]) RETURNS TEXT
LANGUAGE sql STABLE AS $$
  SELECT left(encode(sha256(convert_to(array_to_string("p_parts", E'\n', ''), 'UTF8')), 'hex'), 32)
$$;
