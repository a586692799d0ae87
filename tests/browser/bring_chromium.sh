#!/bin/sh
# Bring a Chromium for the browser tests, where the machine has none and we may install one; else they are skipped.
set -eu
for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing chromium for the browser tests"
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 && exit 0
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 && exit 0
fi
echo "There is no Chromium, and it cannot be installed here: the browser tests will be skipped." >&2
