#!/bin/bash
# A machine whose Node.js is no Debian package gets one in name only, of the version that is there, so that the package of d2-sidecar can be
# installed on it. As root, on a machine or in namespaces where nothing is lost by it.
set -euo pipefail

[[ $(dpkg-query -W -f '${db:Status-Status}' nodejs 2> /dev/null) != installed ]] || exit 0
stub=$(mktemp -d)
mkdir "$stub/DEBIAN"
printf 'Package: nodejs\nVersion: %s\nArchitecture: all\nMaintainer: nobody <root@localhost>\nDescription: stub\n' \
  "$(node --version | tr -d v)" > "$stub/DEBIAN/control"
dpkg-deb --build --root-owner-group "$stub" "$stub.deb" > /dev/null
dpkg -i "$stub.deb" > /dev/null
