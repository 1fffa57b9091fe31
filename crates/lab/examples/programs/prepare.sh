# Makes what the program works on, once; it stays on the disk.
mkdir -p /data
mount -t ext4 /dev/pda /data
mount -t proc proc /data/proc
mount -t devtmpfs dev /data/dev
mount -t tmpfs run /data/run
ifconfig lo 127.0.0.1
chroot /data /bin/sh -e -s < /plimsoll/prepare > /plimsoll/said 2>&1 && echo prepared > /dev/ttyS1
tail -n 20 /plimsoll/said > /dev/ttyS1
umount /data/run /data/dev /data/proc
umount /data
