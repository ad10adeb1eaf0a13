#!/bin/sh
# Makes the root file system of the image, on Debian: Node, the libraries that it loads, one user, and
# nothing else. There is no shell and no package manager, so that an intruder finds no tools and can
# install none.
#
#   sh minimal-root.sh <folder> <node>
set -eu
root=$1 node=$2

install -D -m 755 "$node" "$root/usr/local/bin/node"
licence=$(dirname "$node")/../LICENSE
[ ! -f "$licence" ] || install -D -m 644 "$licence" "$root/usr/share/doc/node/LICENSE"
# The libraries, with the loader, which is the interpreter that the program names.
ldd "$node" | sed -n 's/.*[[:space:]]\(\/[^ ]*\) (0x.*/\1/p' | while read -r library; do
  install -D -m 755 "$library" "$root$library"
  package=$(dpkg --search "$library" 2>/dev/null || dpkg --search "/usr$library")
  package=${package%%:*}
  # Scanners read there which versions of which packages are in an image.
  mkdir -p "$root/var/lib/dpkg/status.d" "$root/usr/share/doc/$package"
  dpkg-query --status "$package" >"$root/var/lib/dpkg/status.d/$package"
  cp "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
done
mkdir -p "$root/etc"
cp -L /etc/os-release "$root/etc/os-release"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
echo 'farthing:x:1000:1000::/data:/none' >"$root/etc/passwd"
echo 'farthing:x:1000:' >"$root/etc/group"
