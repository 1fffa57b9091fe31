[ -e /out/shot ] || trouble collect end
while read -r condition; do
    eval "$condition" || fail "the trouble did not arise: $condition"
done < /lab/arose
dmesg > /out/dmesg
{
    echo plimsoll-capture 1
    cat /out/capture
    echo "@ 0 log"
    echo "= lab/dmesg $(stat -c %s /out/dmesg)"
    cat /out/dmesg
    echo
} | gzip > /dev/ttyS1
