# Twelve files that include much.
mkdir -p /var/build
cd /var/build
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
    for header in /usr/include/*.h; do
        case $header in
        *regexp.h | *wait.h | */thread_db.h | *obstack.h | *error.h) ;;
        *) echo "#include <${header##*/}>" ;;
        esac
    done > $n.c
    echo "int main(void) { return printf(\"%d\", $n); }" >> $n.c
done
mkdir -p /tmp
gcc -D_GNU_SOURCE -c 1.c && rm 1.o
