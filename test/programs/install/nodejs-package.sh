#!/bin/bash
# On a machine whose Node.js is not a Debian package, installs an empty package of that name and version, so that the package of
# d2-sidecar can be installed on it. As root, on a machine or in namespaces where that does no harm.
set -euo pipefail

[[ $(dpkg-query -W -f '${db:Status-Status}' nodejs 2> /dev/null) != installed ]] || exit 0
stub=$(mktemp -d)
mkdir "$stub/DEBIAN"
printf 'Package: nodejs\nVersion: %s\nArchitecture: all\nMaintainer: nobody <root@localhost>\nDescription: stub\n' \
  "$(node --version | tr -d v)" > "$stub/DEBIAN/control"
dpkg-deb --build --root-owner-group "$stub" "$stub.deb" > /dev/null
dpkg -i "$stub.deb" > /dev/null
