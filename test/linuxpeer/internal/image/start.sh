#!/bin/sh
# The guest runs this script once, before the agent. Its last line goes to the console.
export PATH=/usr/bin:/usr/sbin
# A failed command is named on the console, and the rest goes on: the cases then show the effect.
try() { "$@" || echo "linuxpeer: failed: $*" >/dev/kmsg; }

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mount -t tmpfs -o size=512m tmpfs /export
mkdir -p /run/rpcbind /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery /var/lib/nfs/sm /var/lib/nfs/sm.bak
touch /etc/exports
ulimit -l unlimited # siw counts registered memory against it, for root too

while read -r module; do try insmod "$module"; done </lib/modules/order

hostname guest
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
# rxe has a network device of its own, so that an address decides which of the two is used.
try ip link add rxenet type dummy
ip addr add 192.168.77.1/24 dev rxenet
ip link set rxenet up
try rdma link add siw0 type siw netdev eth0
try rdma link add rxe0 type rxe netdev rxenet

try mount -t nfsd nfsd /proc/fs/nfsd
try mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
try rpcbind
chmod 777 /export
later=/later/run # exportfs and mountd that know the options of RPC-with-TLS
[ -x $later ] || later=
try $later exportfs -o rw,insecure,no_root_squash,no_subtree_check,fsid=0 '*:/export'
try $later rpc.mountd --port 20048
try rpc.nfsd 4
echo Y >/proc/fs/nfsd/v4_end_grace || echo 'linuxpeer: failed: end of the grace period' >/dev/kmsg
echo 'rdma 20049' >/proc/fs/nfsd/portlist || echo 'linuxpeer: failed: NFS/RDMA on port 20049' >/dev/kmsg
echo 'linuxpeer: started' >/dev/kmsg
