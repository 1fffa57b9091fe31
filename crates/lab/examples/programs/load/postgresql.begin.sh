chown 101:101 /run
cd /var/db
as-postgres pg_ctl -D /var/db/data -l /var/db/log -w start
