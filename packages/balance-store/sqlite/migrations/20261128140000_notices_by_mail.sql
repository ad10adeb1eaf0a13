-- Some events are also sent by mail, if their account has an address for notices. Webhooks and mail
-- are two queues over the same events, so that one receiver that is down does not hold up the other.

ALTER TABLE account ADD COLUMN notice_email TEXT;
ALTER TABLE event ADD COLUMN mail_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE event ADD COLUMN mail_due_at INTEGER;
ALTER TABLE event ADD COLUMN mailed_at INTEGER;
ALTER TABLE event ADD COLUMN mail_error TEXT;
CREATE INDEX event_mail_due_idx ON event (account_id, seq) WHERE mail_due_at IS NOT NULL;
