#!/bin/sh
# Makes Temporal's two databases in PostgreSQL and brings their schema up to date; safe to run at every start.
set -eu
SQL_PASSWORD=$(cat /run/secrets/temporal_db_password)
export SQL_PASSWORD
for database in temporal temporal_visibility; do
  kind=${database#temporal_}
  sql() { temporal-sql-tool --plugin postgres12 --ep "$POSTGRES_SEEDS" --user "$POSTGRES_USER" --port "$DB_PORT" --db "$database" "$@"; }
  # The first two say so when there is nothing to do.
  sql create || true
  sql setup-schema --version 0.0 || true
  sql update-schema --schema-dir "/etc/temporal/schema/postgresql/v12/$kind/versioned"
done
