#!/bin/sh
# Runs a program of a set of engines: `sh enter.sh <path of a command in the set's bin> <program> …`. What make.sh puts into
# `bin` calls it. The program sees this machine's /proc, /dev, temporary files and checkout, in a mount namespace of its
# own: no mount outlives it, and none is visible to others. It keeps its process id, group, environment and folder.
set -eu
if [ "${1:-}" != --alone ]; then
  exec unshare --mount --propagation private sh "$0" --alone "$@"
fi
shift
root=$(cd "$(dirname "$1")/../root" && pwd)
program=$2
shift 2
checkout=$(cd "$(dirname "$0")/../.." && pwd)

mount --bind /proc "$root/proc"
mount --rbind /dev "$root/dev"
for folder in "${TMPDIR:-/tmp}" "$checkout"; do
  mkdir -p "$root$folder"
  mount --bind "$folder" "$root$folder"
done

# PostgreSQL and PgBouncer refuse to run as root.
case $program in
*/initdb | */postgres | */pgbouncer) set -- setpriv --reuid=postgres --regid=postgres --clear-groups "$program" "$@" ;;
*) set -- "$program" "$@" ;;
esac
exec chroot "$root" env --chdir="$PWD" "$@"
