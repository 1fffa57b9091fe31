cd /var/build
for file in *.c; do gcc -D_GNU_SOURCE -O2 -c $file; done
