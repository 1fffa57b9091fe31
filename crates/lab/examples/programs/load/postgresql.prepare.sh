# 600,000 accounts in 310 MB, 16 MB of buffers; two of ten transactions change something.
cat > /etc/passwd <<'TEXT'
root:x:0:0:root:/root:/bin/sh
postgres:x:101:101:postgres:/var/lib/postgresql:/bin/sh
TEXT
printf 'root:x:0:\npostgres:x:101:\n' > /etc/group
cat > /usr/bin/as-postgres <<'TEXT'
#!/usr/bin/perl
$( = $) = "101 101";
$< = $> = 101;
exec "/usr/lib/postgresql/15/bin/" . shift, @ARGV;
TEXT
chmod 755 /usr/bin/as-postgres
mkdir -p /var/db
chown 101:101 /var/db /run
cd /var/db
as-postgres initdb -D /var/db/data --locale=C --no-sync
cat >> /var/db/data/postgresql.conf <<'TEXT'
shared_buffers = 16MB
dynamic_shared_memory_type = sysv
unix_socket_directories = '/run'
listen_addresses = ''
autovacuum = off
TEXT
as-postgres pg_ctl -D /var/db/data -l /var/db/log -w start
as-postgres pgbench -h /run -i -s 6 -F 25 postgres
as-postgres pg_ctl -D /var/db/data -w stop
