-- What a client names to sum by, such as a project (docs/decisions/0092).

ALTER TABLE "request_label" ADD COLUMN "tag" TEXT COLLATE "C";
