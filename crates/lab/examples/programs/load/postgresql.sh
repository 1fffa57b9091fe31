cd /var/db
as-postgres pgbench -h /run -n -c 1 -t 30000 --random-seed=1 \
    -b select-only@8 -b tpcb-like@2 postgres
