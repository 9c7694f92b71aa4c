"""The Linux kernel as the fabric: switches are network namespaces, ports are TAP devices."""
