cd /var; sqlite3 db < load.sql > /dev/null
