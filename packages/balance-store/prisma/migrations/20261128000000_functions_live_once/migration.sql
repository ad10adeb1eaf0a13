-- The text of each SQL function is in prisma/functions. The store applies a function after the
-- migrations if its text differs from the one that this table records. Earlier migrations contain
-- the functions as they were then; later ones contain none.

CREATE TABLE "schema_function" (
  "name" TEXT NOT NULL PRIMARY KEY,
  "checksum" TEXT NOT NULL
);
