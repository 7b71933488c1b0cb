#!/bin/sh
# Makes a set of engines (Celery, Redis, Valkey, RabbitMQ, PostgreSQL, PgBouncer) from a release of Debian, in
# .cache/engines: `sh test/engines/make.sh trixie`. Needs debootstrap, and root that may mount (in Docker: --privileged);
# takes about two minutes. A set is kept until this file changes; `--anew` makes it again, as `sid` changes every day.
# Tests run its programs if TASK_MONITOR_ENGINES names it (test/helpers/engines.ts).
set -eu

PACKAGES='python3-celery python3-redis python3-sqlalchemy python3-psycopg2 python3-mysqldb python3-yaml
python3-django-celery-results python3-django-celery-beat redis-server valkey-server rabbitmq-server postgresql pgbouncer'

# Everything happens in a mount namespace of its own: whatever becomes of this process, no mount stays behind.
if [ "${1:-}" != --alone ]; then
  exec unshare --mount --propagation private sh "$0" --alone "$@"
fi
release=${2:?a release of Debian, such as trixie}
folder=$(cd "$(dirname "$0")/../.." && pwd)/.cache/engines
finished=$folder/$release
making=$folder/.making-$release
mkdir -p "$folder"
exec 9>"$folder/.lock-$release"
flock 9

stamp=$(sha256sum "$0")
stamp=${stamp%% *}
if [ "${3:-}" != --anew ] && [ "$(cat "$finished/stamp" 2>/dev/null)" = "$stamp" ]; then
  echo "The engines of $release are there."
  exit 0
fi
rm -rf "$making"
mkdir "$making"
root=$making/root
trap '[ $? -eq 0 ] || { tail -n 20 "$making/log"; echo "The engines of $release could not be made."; }' EXIT

# Where this machine has its own packages from, if it is a Debian.
mirror=$(apt-get --print-uris update 2>/dev/null | sed -n "s,^'\(.*/debian\)/dists/.*,\1,p" | head -n 1)
debootstrap --variant=minbase "$release" "$root" "${mirror:-http://deb.debian.org/debian}" >"$making/log" 2>&1

cat /etc/resolv.conf >"$root/etc/resolv.conf"
cat /etc/hosts >"$root/etc/hosts"
{
  # A proxy that this machine's apt uses.
  apt-config dump | grep -i '^Acquire::https\?::' || true
  echo 'Acquire::Check-Valid-Until "false"; Acquire::Languages "none"; APT::Install-Recommends "false";'
} >"$root/etc/apt/apt.conf.d/00engines"
printf '%s\n' force-unsafe-io 'path-exclude /usr/share/doc/*' 'path-exclude /usr/share/man/*' \
  >"$root/etc/dpkg/dpkg.cfg.d/engines"
# No package starts its server, and PostgreSQL makes no data.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
mkdir "$root/etc/postgresql-common"
echo 'create_main_cluster = false' >"$root/etc/postgresql-common/createcluster.conf"

mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
inside() {
  DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$root" "$@" >>"$making/log" 2>&1
}
inside apt-get update
# shellcheck disable=SC2086 # a list
inside apt-get install --yes $PACKAGES
inside apt-get clean
rm -rf "$root"/var/lib/apt/lists/*

# Each program that tests start, as an ordinary command of this machine.
mkdir "$making/bin"
program() {
  printf '#!/bin/sh\nexec sh "$(dirname "$0")/../../../../test/engines/enter.sh" "$0" %s "$@"\n' "$2" >"$making/bin/$1"
  chmod 755 "$making/bin/$1"
}
for name in python3 redis-server valkey-server epmd id; do program "$name" "/usr/bin/$name"; done
for name in rabbitmq-server rabbitmqctl; do program "$name" "/usr/lib/rabbitmq/bin/$name"; done
for name in initdb postgres; do program "$name" "$(chroot "$root" sh -c "ls /usr/lib/postgresql/*/bin/$name")"; done
program pgbouncer /usr/sbin/pgbouncer

# Only a finished set gets its name.
echo "$stamp" >"$making/stamp"
rm -rf "$finished"
mv "$making" "$finished"
echo "The engines of $release are made."
