/var/rates/rates 3600 > /dev/null 2>&1 &
sleep 20
