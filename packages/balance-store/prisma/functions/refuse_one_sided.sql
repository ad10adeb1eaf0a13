-- Refuses an entry that is no charge and does not say from where its money comes: a gateway of an
-- earlier version made it. That gateway tries a charge that waits for the entry again, because of this
-- code, until one of this version has booked what is due. A ledger that is moved here has such entries.
CREATE OR REPLACE FUNCTION "refuse_one_sided"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('farthing.copies_ledger', true) = 'yes' THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'entry % does not say from where its money comes: its gateway is too old', NEW."id"
    USING ERRCODE = 'object_not_in_prerequisite_state';
END
$$;
