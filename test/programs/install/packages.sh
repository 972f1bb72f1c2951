#!/bin/bash
# bash packages.sh deb|rpm PACKAGE NEWER-PACKAGE FOLDER BASE, as root in namespaces of its own for mounts and processes (packages.test.ts):
# installs, starts, upgrades, removes and purges the package by dpkg or rpm, in the new Debian of the folder BASE, which stays as it is.
# FOLDER is an empty one. Prints a line for each check that passes; the first failing one ends it with 1.
set -euo pipefail
format=$1 package=$2 newer=$3 folder=$4 base=$5
here=$(dirname "$(readlink -f "$0")")

mount -t tmpfs none "$folder"
mkdir "$folder"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=$base,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
root=$folder/root
for shared in /proc /dev; do mount --rbind "$shared" "$root$shared"; done
mount -t tmpfs none "$root/tmp"
chmod 1777 "$root/tmp"
cp "$package" "$root/tmp/package"
cp "$newer" "$root/tmp/newer"
cp "$here/notify-socket.pl" "$root/tmp"

cat > "$root/tmp/inside.sh" <<'INSIDE'
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin

say() { echo "ok: $*"; }
is() { [[ $2 == "$3" ]] || { echo "$1: got '$2', expected '$3'" >&2; exit 1; }; }
until_line() { # FILE PATTERN
  for _ in $(seq 300); do
    grep -qs -- "$2" "$1" && return
    sleep 0.1
  done
  echo "no line '$2' in $1:" >&2
  cat "$1" >&2
  exit 1
}

# What dpkg and rpm do differently: the commands, and the names of the configurations that an upgrade and a removal leave.
config=/etc/d2-sidecar/sidecar.yaml
if [[ $1 == deb ]]; then
  install_package() { dpkg -i /tmp/package; }
  # The new package has another file, so dpkg asks; Enter keeps the user's own.
  upgrade_package() { echo | dpkg -i /tmp/newer; }
  version() { dpkg-query -W -f '${Version}' d2-sidecar; }
  remove_package() { dpkg -r d2-sidecar; }
  purge_package() { dpkg -P d2-sidecar; }
  new_config=$config.dpkg-dist left_config=$config
else
  # Debian's database of rpm is empty, so it knows no library.
  on_debian=(--force-debian --nodeps)
  install_package() { rpm -i "${on_debian[@]}" /tmp/package; }
  upgrade_package() { rpm -U "${on_debian[@]}" /tmp/newer; }
  version() { rpm -q --queryformat '%{VERSION}' d2-sidecar; }
  remove_package() { rpm -e "${on_debian[@]}" d2-sidecar; }
  # By docs/install.md.
  purge_package() { rm -r /etc/d2-sidecar /var/lib/d2-sidecar /var/log/d2-sidecar && userdel d2-sidecar; }
  new_config=$config.rpmnew left_config=$config.rpmsave
fi
quietly() { "$@" > /tmp/log 2>&1 || { cat /tmp/log >&2; exit 1; }; }

[[ -z $(type -P node) ]]
quietly install_package
is 'the configuration folder' "$(stat -c '%U:%G %a' /etc/d2-sidecar)" 'root:d2-sidecar 750'
is 'the configuration' "$(stat -c '%U:%G %a' /etc/d2-sidecar/sidecar.yaml)" 'root:root 644'
is 'the shell of the user' "$(getent passwd d2-sidecar | cut -d: -f7)" /usr/sbin/nologin
# The warning about this machine's Node.js is left out, here and below.
d2-sidecar check --config /etc/d2-sidecar/sidecar.yaml 2>&1 > /dev/null | sed '/ has known vulnerabilities: /d' >&2
is 'the folder of the state' "$(stat -c '%U:%G %a' /var/lib/d2-sidecar)" 'd2-sidecar:d2-sidecar 700'
is 'the folder of the access log' "$(stat -c '%U:%G %a' /var/log/d2-sidecar)" 'd2-sidecar:d2-sidecar 750'
say "installed $(d2-sidecar --version)"

unit=/usr/lib/systemd/system/d2-sidecar.service
is 'what systemd-analyze verify says' "$(systemd-analyze verify "$unit" 2>&1)" ''
sockets=("${unit%.service}.socket" "${unit%.service}-monitor.socket")
is 'what systemd-analyze verify says of the sockets' "$(systemd-analyze verify "${sockets[@]}" 2>&1)" ''
say 'the units are valid'

# Like systemd: the unit's command, user, environment and folder.
value() { sed -n "s/^$1=//p" "$unit"; }
read -r -a environment <<< "$(value Environment)"
read -r -a command <<< "$(value ExecStart)"
read -r -a reload <<< "$(value ExecReload)"
as_user() {
  setpriv --reuid="$(value User)" --regid="$(value Group)" --clear-groups --no-new-privs --inh-caps=-all -- \
    env -i PATH="$PATH" "${environment[@]}" "$@"
}
install -d -m "$(value RuntimeDirectoryMode)" -o d2-sidecar -g d2-sidecar "/run/$(value RuntimeDirectory)"

start() {
  rm -f /tmp/notify.sock
  perl /tmp/notify-socket.pl /tmp/notify.sock > /tmp/notified &
  until_line /tmp/notified open
  as_user NOTIFY_SOCKET=/tmp/notify.sock WATCHDOG_USEC=400000 D2_SIDECAR_LISTEN_PORT=0 D2_SIDECAR_MONITOR_PORT=0 \
    D2_SIDECAR_STOP_DELAY=0 D2_SIDECAR_STOP_WINDOW=0 "${command[@]}" > /tmp/sidecar.log &
  sidecar=$!
  until_line /tmp/notified '^READY=1 STATUS=serving on 0\.0\.0\.0:[1-9]'
  until_line /tmp/notified '^WATCHDOG=1$'
}
stop() {
  kill -TERM "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' /tmp/sidecar.log | head -1)"
  wait "$sidecar"
  until_line /tmp/notified '^STOPPING=1 EXTEND_TIMEOUT_USEC=35000000 '
}

start
is 'health' "$(as_user d2-sidecar health --ready --control /run/d2-sidecar/control.sock | cut -d' ' -f3-)" 'is ready: serving'
as_user "${reload[@]}" | grep -q 'nothing changed'
stop
say 'the unit starts, tells READY and WATCHDOG, reloads, tells STOPPING, and ends with 0'

# By docs/prometheus.md and docs/access-log.md: root makes the token, and the service reads it and writes the log.
cp "$config" /tmp/sidecar.yaml
umask 077
d2-sidecar passwd prometheus --token --role metrics --file /etc/d2-sidecar/tokens > /tmp/token 2> /dev/null
is 'a file of tokens that root has made' "$(stat -c '%U:%G %a' /etc/d2-sidecar/tokens)" 'root:d2-sidecar 640'
cat > "$config" <<'YAML'
upstream:
  url: http://127.0.0.1:8080/smartWeb
monitor:
  auth:
    tokensFile: /etc/d2-sidecar/tokens
accessLog:
  file: /var/log/d2-sidecar/access.log
state:
  file: /var/lib/d2-sidecar/state
YAML
umask 022
checked() { { d2-sidecar check --config "$config" 2>&1 > /dev/null || echo "exit $?"; } | sed '/ has known vulnerabilities: /d'; }
is 'what check says' "$(checked)" ''
start
answer() {
  curl --silent --write-out '\n%{http_code}\n' --header "Authorization: Bearer $(cat /tmp/token)" \
    "http://$(sed -n 's/.*"monitor":"\([^"]*\)".*/\1/p' /tmp/sidecar.log | head -1)/metrics"
}
is 'the answer to Prometheus' "$(answer | tail -1)" 200
is 'the access log' "$(stat -c '%U:%G %a' /var/log/d2-sidecar/access.log)" 'd2-sidecar:d2-sidecar 600'
stop
say 'a token that root makes is read by the service, and the documented access log is written'

chmod 0600 /etc/d2-sidecar/tokens
is 'what check says of it' "$(checked)" "d2-sidecar: checked as the user d2-sidecar of $unit; --as root checks as root
d2-sidecar: D2S_ERR_ACCESS_FILE: monitor.auth.tokensFile: /etc/d2-sidecar/tokens cannot be read: EACCES
exit 1"
start
answer > /tmp/answer
grep -q 'monitor.auth.tokensFile cannot be used (EACCES)' /tmp/answer
is 'the answer without tokens' "$(tail -1 /tmp/answer)" 503
stop
say 'a token that the service cannot read is told by check, and does not keep it from serving'
mv /tmp/sidecar.yaml "$config"
rm /etc/d2-sidecar/tokens

echo '# kept' >> "$config"
# An administrator's choice, by docs/install.md.
chgrp daemon /etc/d2-sidecar
quietly upgrade_package
is 'what was written into the configuration' "$(tail -1 "$config")" '# kept'
is 'the new configuration beside it' "$(tail -1 "$new_config")" '# new in this version'
is 'the rights after the upgrade' "$(stat -c '%U:%G %a' /etc/d2-sidecar)" 'root:daemon 750'
chgrp d2-sidecar /etc/d2-sidecar
start
stop
say "upgraded to $(version), with the configuration as it was and the new one beside it"

echo numbers > /var/lib/d2-sidecar/state
quietly remove_package
[[ ! -e /usr/bin/d2-sidecar && ! -e /usr/lib/d2-sidecar && ! -e $unit ]]
is 'what was written into the configuration' "$(tail -1 "$left_config")" '# kept'
is 'the state' "$(cat /var/lib/d2-sidecar/state)" numbers
getent passwd d2-sidecar > /dev/null
say 'removed, with configuration, state and user left'

echo secret > /etc/d2-sidecar/tokens
quietly purge_package
[[ ! -e /etc/d2-sidecar && ! -e /var/lib/d2-sidecar && ! -e /var/log/d2-sidecar && ! -e /usr/share/doc/d2-sidecar ]]
is 'the user' "$(getent passwd d2-sidecar || true)" ''
say 'purged, with nothing left'
INSIDE
# Variables of this machine name files of it.
env -i "$(type -P chroot)" "$root" /bin/bash /tmp/inside.sh "$format"
