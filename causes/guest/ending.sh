[ -e /out/shot ] || trouble collect end
dmesg > /out/dmesg
{
    echo plimsoll-capture 1
    cat /out/capture
    echo "@ 0 log"
    echo "= lab/dmesg $(stat -c %s /out/dmesg)"
    cat /out/dmesg
    echo
} | gzip > /dev/ttyS1
