perl /var/client
