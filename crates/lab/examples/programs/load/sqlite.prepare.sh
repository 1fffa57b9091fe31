# 400,000 rows of 1000 bytes, sixteen in a page; which row by Zipf's law of exponent 0.75, strewn.
cd /var
sqlite3 db <<'SQL'
PRAGMA page_size = 16384;
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, body BLOB);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 400000)
INSERT INTO t SELECT i, 0, zeroblob(990) FROM c;
SQL
gawk 'BEGIN {
    srand(1)
    for (i = 0; i < 60000; i++) {
        key = (int(400000 * rand() ^ 4) * 7919) % 400000 + 1
        change = i % 600 >= 540
        if (change && i % 600 == 540) print "BEGIN;"
        if (change) print "UPDATE t SET n = n + 1 WHERE id = " key ";"
        else print "SELECT n, length(body) FROM t WHERE id = " key ";"
        if (i % 600 == 599) print "COMMIT;"
    }
}' > load.sql
