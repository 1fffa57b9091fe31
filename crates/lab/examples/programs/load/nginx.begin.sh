nginx -c /etc/nginx.conf
