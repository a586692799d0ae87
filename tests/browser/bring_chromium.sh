#!/bin/sh
# Bring a Chromium for the browser tests where the machine has none; say what to do where we may not install one.
set -eu
if [ -n "${SKIP_BROWSER_TESTS:-}" ]; then exit 0; fi
for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing chromium for the browser tests"
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 && exit 0
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 && exit 0
fi
echo "There is no Chromium, and it cannot be installed here: the browser tests need one." \
	"Install chromium (as root on Debian: apt-get install chromium) and have it on the PATH," \
	"or go without these tests: SKIP_BROWSER_TESTS=1 make test" >&2
exit 1
