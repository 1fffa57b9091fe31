/var/rates/rates 100 /var/rates/data
