# What the scripts of the .deb and the .rpm do at an installation, an upgrade and a removal. scripts/packages/ has the calls.

# Debian's deb-systemd-invoke obeys policy-rc.d, by which a machine forbids packages to start services.
invoke() { # ACTION UNIT
    if command -v deb-systemd-invoke > /dev/null; then deb-systemd-invoke "$@"; else systemctl "$@"; fi
}

# Runs a command with the arguments and variables of the running service, which drop-ins may have changed.
as_service() { # COMMAND...
    pid=$(systemctl show --property MainPID --value d2-sidecar.service)
    {
        grep -z '^D2_SIDECAR_' "/proc/$pid/environ"
        printf '%s\0' "$@"
        sed -z '0,/d2-sidecar$/d' "/proc/$pid/cmdline"
    } | xargs -0 env
}

restart() {
    if ! told=$(as_service d2-sidecar check 2>&1 > /dev/null); then
        # With sockets, clients would wait for it.
        echo "$told" >&2
        echo 'd2-sidecar: this version would not start, so the old one goes on. Correct that, then: systemctl restart d2-sidecar' >&2
    elif systemctl is-active --quiet d2-sidecar.socket; then
        invoke try-restart d2-sidecar.service || true
    else
        # It listens by itself, as before there were sockets; they can listen once it has ended.
        if as_service /usr/lib/d2-sidecar/set-sockets d2-sidecar; then
            if systemctl is-enabled --quiet d2-sidecar.service; then systemctl enable --quiet d2-sidecar.service; fi
        else
            systemctl mask d2-sidecar.socket d2-sidecar-monitor.socket
        fi
        invoke stop d2-sidecar.service || true
        invoke start d2-sidecar.service || true
    fi
}

reload_units() {
    [ ! -d /run/systemd/system ] || systemctl daemon-reload || true
}

# After the files are in place. An installation does not start it: upstream.url is not set yet.
configure() { # OLD-VERSION, empty at an installation
    # A permanent user instead of DynamicUser=: files of users, tokens and keys need an owner that stays the same.
    if ! getent passwd d2-sidecar > /dev/null; then
        useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin d2-sidecar
    fi
    # The sidecar may read these files; other users may not. A group that an administrator has set stays.
    if [ "$(stat -c %G /etc/d2-sidecar)" = root ]; then
        chown root:d2-sidecar /etc/d2-sidecar
        chmod 0750 /etc/d2-sidecar
    fi
    # The same as by StateDirectory= and LogsDirectory= of the unit, so that `d2-sidecar check` finds them before the first start.
    [ -e /var/lib/d2-sidecar ] || install -d -o d2-sidecar -g d2-sidecar -m 0700 /var/lib/d2-sidecar
    [ -e /var/log/d2-sidecar ] || install -d -o d2-sidecar -g d2-sidecar -m 0750 /var/log/d2-sidecar
    reload_units
    if [ -n "$1" ] && [ -d /run/systemd/system ] && systemctl is-active --quiet d2-sidecar.service; then restart; fi
}

# Before a removal. During an upgrade the old version keeps running; configure restarts it.
stop_for_good() {
    if [ -d /run/systemd/system ]; then
        systemctl disable --now d2-sidecar.socket d2-sidecar-monitor.socket d2-sidecar.service || true
    fi
}

# Also deletes the files of administrators: users, tokens, keys and logs.
purge() {
    rm -rf /etc/d2-sidecar /var/lib/d2-sidecar /var/log/d2-sidecar
    for unit in d2-sidecar.socket d2-sidecar-monitor.socket; do
        rm -f "/etc/systemd/system/$unit.d/address.conf"
        rmdir "/etc/systemd/system/$unit.d" 2> /dev/null || true
        [ ! -L "/etc/systemd/system/$unit" ] || rm -f "/etc/systemd/system/$unit"
    done
    ! getent passwd d2-sidecar > /dev/null || userdel d2-sidecar || true
}
