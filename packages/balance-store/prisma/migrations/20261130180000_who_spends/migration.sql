-- Members, groups and budgets. A charge names its spender: the member, its groups, a tag and a run.

ALTER TABLE "account" ADD COLUMN "budgeted" BOOLEAN NOT NULL DEFAULT FALSE;
-- Also for accounts that a gateway of the previous version creates.
ALTER TABLE "account" ADD COLUMN "label_salt" TEXT NOT NULL
  DEFAULT replace(gen_random_uuid()::TEXT, '-', '');
ALTER TABLE "api_key" ADD COLUMN "member_id" TEXT COLLATE "C";
ALTER TABLE "api_key" ADD COLUMN "naming" JSONB;
CREATE INDEX "api_key_member_idx" ON "api_key" ("member_id") WHERE "member_id" IS NOT NULL;
ALTER TABLE "ledger" ADD COLUMN "spender_id" TEXT COLLATE "C";
ALTER TABLE "hold" ADD COLUMN "spender" JSONB;

CREATE TABLE "spend_group" (
  "id" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "path" TEXT COLLATE "C" NOT NULL,
  "name" TEXT NOT NULL,
  "external_id" TEXT COLLATE "C",
  "metadata" JSONB NOT NULL DEFAULT '{}',
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "spend_group_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "spend_group_account_idx" ON "spend_group" ("account_id", "id");
CREATE UNIQUE INDEX "spend_group_external_id_key" ON "spend_group" ("account_id", "external_id");

CREATE TABLE "member" (
  "id" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "group_id" TEXT COLLATE "C",
  "name" TEXT NOT NULL,
  "external_id" TEXT COLLATE "C",
  "email" TEXT,
  "metadata" JSONB NOT NULL DEFAULT '{}',
  "state" TEXT NOT NULL DEFAULT 'active',
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "member_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "member_state" CHECK ("state" IN ('active', 'ended'))
);
CREATE INDEX "member_account_idx" ON "member" ("account_id", "id");
CREATE UNIQUE INDEX "member_external_id_key" ON "member" ("account_id", "external_id");
CREATE INDEX "member_email_idx" ON "member" ("account_id", lower("email")) WHERE "email" IS NOT NULL;

CREATE TABLE "budget" (
  "id" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "name" TEXT NOT NULL,
  "scope" TEXT NOT NULL,
  "subject" TEXT COLLATE "C",
  "within_group" TEXT COLLATE "C",
  "amount" NUMERIC(38, 14) NOT NULL,
  "period" TEXT NOT NULL,
  "zone" TEXT NOT NULL,
  "from_at" TIMESTAMPTZ(3),
  "until_at" TIMESTAMPTZ(3),
  "action" TEXT NOT NULL,
  "shares" JSONB NOT NULL DEFAULT '[]',
  "contact" TEXT,
  "created_at" TIMESTAMPTZ(3) NOT NULL,
  "ended_seq" BIGINT,
  CONSTRAINT "budget_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "budget_scope" CHECK ("scope" IN ('account', 'group', 'member', 'key', 'tag', 'run')),
  CONSTRAINT "budget_period" CHECK ("period" IN ('day', 'week', 'month', 'once')),
  CONSTRAINT "budget_action" CHECK ("action" IN ('refuse', 'notify')),
  CONSTRAINT "budget_amount" CHECK ("amount" >= 0)
);
CREATE INDEX "budget_account_idx" ON "budget" ("account_id", "id");

CREATE TABLE "budget_raise" (
  "id" TEXT COLLATE "C" NOT NULL,
  "budget_id" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "subject" TEXT COLLATE "C",
  "amount" NUMERIC(38, 14) NOT NULL,
  "from_at" TIMESTAMPTZ(3) NOT NULL,
  "until_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "budget_raise_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "budget_raise_budget_idx" ON "budget_raise" ("budget_id", "until_at");

CREATE TABLE "budget_use" (
  "budget_id" TEXT COLLATE "C" NOT NULL,
  "subject" TEXT COLLATE "C" NOT NULL,
  "start_at" BIGINT NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "used" NUMERIC(38, 14) NOT NULL,
  CONSTRAINT "budget_use_pkey" PRIMARY KEY ("budget_id", "subject", "start_at")
);
CREATE INDEX "budget_use_account_idx" ON "budget_use" ("account_id");

CREATE TABLE "spender" (
  "id" TEXT COLLATE "C" NOT NULL,
  "account_id" TEXT COLLATE "C" NOT NULL,
  "number" INTEGER NOT NULL,
  "member_id" TEXT COLLATE "C",
  "groups" TEXT COLLATE "C",
  "labels" TEXT COLLATE "C",
  "tag" TEXT COLLATE "C",
  "run" TEXT COLLATE "C",
  CONSTRAINT "spender_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "spender_number_key" ON "spender" ("account_id", "number");

CREATE TABLE "spender_hour" (
  "account_id" TEXT COLLATE "C" NOT NULL,
  "hour" INTEGER NOT NULL,
  "spender_id" TEXT COLLATE "C" NOT NULL,
  "key_id" TEXT COLLATE "C" NOT NULL,
  "model" TEXT COLLATE "C" NOT NULL,
  "requests" BIGINT NOT NULL,
  "input_tokens" BIGINT NOT NULL,
  "output_tokens" BIGINT NOT NULL,
  "cache_read_tokens" BIGINT NOT NULL,
  "cache_write_tokens" BIGINT NOT NULL,
  "charged" NUMERIC(38, 14) NOT NULL,
  "written_off" NUMERIC(38, 14) NOT NULL,
  "cost" NUMERIC(38, 14) NOT NULL,
  "costed" BIGINT NOT NULL,
  CONSTRAINT "spender_hour_pkey" PRIMARY KEY ("account_id", "hour", "spender_id", "key_id", "model")
);

-- An audit compares groups, members, budgets and raises with the trail.
CREATE INDEX "trail_subject_idx" ON "trail" (("details"::JSONB ->> 'of') COLLATE "C", "seq")
  WHERE "action" IN ('group.create', 'group.update', 'member.create', 'member.update', 'member.end',
    'budget.create', 'budget.update', 'budget.end', 'budget.raise');
