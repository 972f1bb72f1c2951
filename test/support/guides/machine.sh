#!/bin/bash
# bash machine.sh FOLDER CHECKOUT, as root (machine.ts): starts a fresh machine, with systemd as its first process, in namespaces of its own
# for mounts, processes, network, name, IPC and control groups. It has the files of this machine, and isolates its changes. FOLDER is empty;
# the machine has CHECKOUT as /root/d2-sidecar. Prints the process id of its systemd, and ends the machine at the end of its input.
set -euo pipefail
folder=$1 checkout=$2

if [[ ${3:-} != inside ]]; then
  group=$(findmnt --noheadings --first-only --output TARGET --types cgroup2)/d2s-guides-$$
  end() {
    [[ -z ${machine:-} ]] || kill -KILL "$machine" 2> /dev/null || true
    wait || true
    # The groups of its services are below it. A killed process stays in its group for a moment.
    for _ in $(seq 100); do
      find "$group" -depth -type d -exec rmdir {} + 2> /dev/null || true
      [[ -d $group ]] || break
      sleep 0.05
    done
  }
  trap end EXIT
  mkdir "$group"
  (
    echo "$BASHPID" > "$group/cgroup.procs"
    exec unshare --mount --pid --fork --kill-child --net --uts --ipc --cgroup bash "$0" "$folder" "$checkout" inside < /dev/null
  ) &
  machine=$!
  until init=$(ps -o pid= --ppid "$machine"); do
    kill -0 "$machine" 2> /dev/null || exit 1
    sleep 0.05
  done
  echo "${init// /}"
  cat > /dev/null
  exit 0
fi

mount -t tmpfs none "$folder"
mkdir "$folder"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
cd "$folder/root"

# Settings of the kernel are those of this machine: read-only.
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,ro,bind proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/{pts,shm}
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=700 tmpfs root
mkdir root/d2-sidecar
mount --bind "$checkout" root/d2-sidecar

# Other services of this machine do not start.
rm -rf etc/systemd/system/*.wants var/lib/prometheus/metrics2/* var/log/tomcat10/*
ip link set lo up
# The machine's name in the guides, with a non-loopback address: a client that uses it counts as a client of another machine.
ip address add 192.0.2.10/32 dev lo
echo '192.0.2.10 plant.example' >> etc/hosts

mkdir run/old
pivot_root . run/old
umount -l /run/old
exec setpriv --bounding-set=-sys_module,-sys_time,-sys_rawio,-sys_boot,-syslog,-mac_admin,-mac_override -- \
  env -i container=d2s PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  /usr/lib/systemd/systemd --unit=basic.target
