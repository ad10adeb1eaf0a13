-- Members, groups and budgets. A charge names its spender: the member, its groups, a tag and a run.

ALTER TABLE account ADD COLUMN budgeted INTEGER NOT NULL DEFAULT FALSE;
ALTER TABLE account ADD COLUMN label_salt TEXT NOT NULL DEFAULT '';
UPDATE account SET label_salt = lower(hex(randomblob(16)));
ALTER TABLE api_key ADD COLUMN member_id TEXT;
ALTER TABLE api_key ADD COLUMN naming TEXT;
CREATE INDEX api_key_member_idx ON api_key (member_id) WHERE member_id IS NOT NULL;
ALTER TABLE ledger ADD COLUMN spender_id TEXT;
ALTER TABLE hold ADD COLUMN spender TEXT;

CREATE TABLE spend_group (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL,
  path TEXT NOT NULL,
  name TEXT NOT NULL,
  external_id TEXT,
  metadata TEXT NOT NULL DEFAULT '{}',
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX spend_group_account_idx ON spend_group (account_id, id);
CREATE UNIQUE INDEX spend_group_external_id_key ON spend_group (account_id, external_id);

CREATE TABLE member (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL,
  group_id TEXT,
  name TEXT NOT NULL,
  external_id TEXT,
  email TEXT,
  metadata TEXT NOT NULL DEFAULT '{}',
  state TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'ended')),
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX member_account_idx ON member (account_id, id);
CREATE UNIQUE INDEX member_external_id_key ON member (account_id, external_id);
CREATE INDEX member_email_idx ON member (account_id, lower(email)) WHERE email IS NOT NULL;

CREATE TABLE budget (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('account', 'group', 'member', 'key', 'tag', 'run')),
  subject TEXT,
  within_group TEXT,
  amount TEXT NOT NULL,
  period TEXT NOT NULL CHECK (period IN ('day', 'week', 'month', 'once')),
  zone TEXT NOT NULL,
  from_at INTEGER,
  until_at INTEGER,
  action TEXT NOT NULL CHECK (action IN ('refuse', 'notify')),
  shares TEXT NOT NULL DEFAULT '[]',
  contact TEXT,
  created_at INTEGER NOT NULL,
  ended_seq INTEGER
) STRICT;
CREATE INDEX budget_account_idx ON budget (account_id, id);

CREATE TABLE budget_raise (
  id TEXT PRIMARY KEY NOT NULL,
  budget_id TEXT NOT NULL,
  account_id TEXT NOT NULL,
  subject TEXT,
  amount TEXT NOT NULL,
  from_at INTEGER NOT NULL,
  until_at INTEGER NOT NULL
) STRICT;
CREATE INDEX budget_raise_budget_idx ON budget_raise (budget_id, until_at);

CREATE TABLE budget_use (
  budget_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  start_at INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  used TEXT NOT NULL,
  PRIMARY KEY (budget_id, subject, start_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX budget_use_account_idx ON budget_use (account_id);

CREATE TABLE spender (
  id TEXT PRIMARY KEY NOT NULL,
  account_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  member_id TEXT,
  groups TEXT,
  labels TEXT,
  tag TEXT,
  run TEXT
) STRICT;
CREATE UNIQUE INDEX spender_number_key ON spender (account_id, number);

CREATE TABLE spender_hour (
  account_id TEXT NOT NULL,
  hour INTEGER NOT NULL,
  spender_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  model TEXT NOT NULL,
  requests INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  charged TEXT NOT NULL,
  written_off TEXT NOT NULL,
  cost TEXT NOT NULL,
  costed INTEGER NOT NULL,
  PRIMARY KEY (account_id, hour, spender_id, key_id, model)
) STRICT, WITHOUT ROWID;

-- An audit compares groups, members, budgets and raises with the trail.
CREATE INDEX trail_subject_idx ON trail (details ->> 'of', seq)
  WHERE action IN ('group.create', 'group.update', 'member.create', 'member.update', 'member.end',
    'budget.create', 'budget.update', 'budget.end', 'budget.raise');
