# 4000 files of 20 to 180 kB, 400 MB; which file by Zipf's law of exponent 0.67.
mkdir -p /var/www /var/log/nginx /var/lib/nginx
cat > /etc/passwd <<'TEXT'
root:x:0:0:root:/root:/bin/sh
TEXT
echo root:x:0: > /etc/group
cat > /etc/nginx.conf <<'TEXT'
user root;
pid /run/nginx.pid;
events { }
http { sendfile on; access_log off; server { listen 80; root /var/www; } }
TEXT
perl -e '
    srand(1);
    for my $n (0 .. 3999) {
        open(my $file, ">", "/var/www/$n") or die;
        print $file "x" x (20000 + int(rand(160000)));
    }'
cat > /var/client <<'TEXT'
use Socket;
srand(2);
for (1 .. 8000) {
    my $n = int(4000 * rand() ** 3) * 1777 % 4000;
    socket(my $to, PF_INET, SOCK_STREAM, 0) or die;
    connect($to, sockaddr_in(80, INADDR_LOOPBACK)) or die;
    syswrite($to, "GET /$n HTTP/1.0\r\n\r\n");
    my $all = 0;
    while (my $got = sysread($to, my $bytes, 65536)) { $all += $got; }
    die if $all < 20000;
}
TEXT
