#!/bin/sh
# Bring servers that fault tests use (packages of Debian, by name) where the machine lacks them. Only as root in a
# container: elsewhere a package would start a service. Tests whose server is missing are skipped, so this never fails.
set -eu
missing=""
for name in "$@"; do
	case "$name" in
	etcd-server) program=etcd ;;
	rabbitmq-server) program=/usr/lib/rabbitmq/bin/rabbitmq-server ;;
	*) program="$name" ;;
	esac
	PATH="$PATH:/usr/sbin" command -v "$program" >/dev/null 2>&1 || missing="$missing $name"
done
if [ -z "$missing" ] || [ -d /run/systemd/system ]; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing$missing for the fault tests"
	export DEBIAN_FRONTEND=noninteractive
	# shellcheck disable=SC2086  # a list
	apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 && exit 0
	# shellcheck disable=SC2086
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >/dev/null 2>&1 && exit 0
fi
echo "not installed, so the tests that need them are skipped:$missing"
