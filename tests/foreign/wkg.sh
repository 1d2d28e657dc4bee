#!/usr/bin/env bash
# `wkg` (the package manager of the Bytecode Alliance) and acp-runtime over one registry, Debian's docker-registry: what one
# publishes the other fetches, by its place and by its name. Ends with 0 if all of it works; `wkg.txt` is what it prints.
#
#   cargo xtask test                              # unpacks the registry into target/registry, builds the plugins
#   cargo install wkg --version 0.16.1 --locked   # or name another one: WKG=/path/to/wkg
#   tests/foreign/wkg.sh
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
wkg=${WKG:-$(command -v wkg)}
runtime=$target/release/acp-runtime
registry=$target/registry/usr/bin/docker-registry

place=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$place"' EXIT
mkdir "$place/author" "$place/person" "$place/web" "$place/here"
cd "$place/here"

# Something on a port of its own choice, which it writes into that file.
port_in() { for _ in $(seq 100); do grep -oE "$2" "$1" 2>/dev/null | grep -oE '[0-9]+$' && return; sleep 0.1; done; exit 1; }
printf 'version: 0.1\nlog: { level: info }\nstorage: { filesystem: { rootdirectory: %s } }\nhttp: { addr: 127.0.0.1:0 }\n' \
  "$place/storage" > "$place/registry.yml"
"$registry" serve "$place/registry.yml" > /dev/null 2> "$place/registry.log" &
host=127.0.0.1:$(port_in "$place/registry.log" 'listening on 127.0.0.1:[0-9]+')

# The web server of a namespace, which says where the registry is: the convention of wkg.
mkdir -p "$place/web/.well-known/wasm-pkg"
printf '{"preferredProtocol":"oci","oci":{"registry":"%s","namespacePrefix":"plugins/"}}\n' "$host" \
  > "$place/web/.well-known/wasm-pkg/registry.json"
python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$place/web" > "$place/web.log" 2>&1 &
site=localhost:$(port_in "$place/web.log" 'port [0-9]+')

printf '[plugins.registry]\nnamespaces = { acme = "%s" }\n' "$site" | tee "$place/author/config.toml" > "$place/person/config.toml"
printf '[namespace_registries]\nacme = "%s"\n[registry."%s".oci]\nprotocol = "http"\n' "$site" "$site" > "$place/wkg.toml"
unset RUST_BACKTRACE
export HOME=$place WKG_CONFIG_FILE=$place/wkg.toml WKG_OCI_INSECURE=$host

# Prints a command and what it prints, without what is another one each time.
shown() { sed -E "s#$host#REGISTRY#g; s#$site#SITE#g; s#$place/##g; s#[0-9a-f]{64}#…#g; s#RW[A-Za-z0-9+/=]{54}#RW…#g; s#[0-9]+ KiB#… KiB#g"; }
run() { printf '\n$ %s\n' "$*" | shown; "$@" 2>&1 | shown; return "${PIPESTATUS[0]}"; }
refused() { if run "$@"; then echo "it is not refused"; exit 1; fi; }
# As somebody who publishes, and as somebody else who installs.
acp-runtime() { ACP_RUNTIME_HOME=$place/${who:-person} "$runtime" "$@"; }
wkg() { "$wkg" "$@"; }
same() { cmp "$1" "$2" && printf '%s has the bytes of %s\n' "$1" "$2"; }
# A plugin with that id and version, as NAME.wasm.
build() {
  printf 'id = "%s"\nversion = "%s"\ntitle = "List"\ndescription = "A list."\nlicense = "MIT"\n[capabilities]\nkv = { reason = "remembers" }\n' \
    "$1" "$2" > plugin.toml
  acp-runtime plugin build --component "$target/release/plugins/tasks.wasm" --manifest plugin.toml --output "$3" > build.txt 2>&1 || { cat build.txt; exit 1; }
}

run wkg --version
echo; echo "# What acp-runtime publishes, wkg fetches: by its place, by its name, and as the newest version."
who=author acp-runtime plugin keygen key --no-password > key.txt 2> /dev/null
build acme:list 1.0.0 list.wasm
build acme:list 1.1.0 newer.wasm
who=author run acp-runtime plugin publish list.wasm "oci://$host/plugins/acme/list" --key key
who=author run acp-runtime plugin publish newer.wasm "oci://$host/plugins/acme/list" --key key
run wkg oci pull "$host/plugins/acme/list:1.0.0" --output pulled.wasm
same pulled.wasm list.wasm
run wkg get acme:list@1.0.0 --output ./got.wasm
same got.wasm list.wasm
run wkg get acme:list --output ./newest.wasm
same newest.wasm newer.wasm
run acp-runtime plugin verify pulled.wasm || true
run acp-runtime plugin install acme:list --yes --trust-publisher "$(tail -1 key.txt)"

echo; echo "# What wkg pushes to a place, acp-runtime installs from it."
build acme:pushed 1.0.0 pushed.wasm
digest=sha256:$(sha256sum pushed.wasm | cut -d' ' -f1)
run wkg oci push "$host/plugins/acme/pushed:1.0.0" pushed.wasm | tee push.txt
pushed=$(curl -sI -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://$host/v2/plugins/acme/pushed/manifests/1.0.0" |
  tr -d '\r' | sed -n 's/^[Dd]ocker-[Cc]ontent-[Dd]igest: //p')
refused acp-runtime plugin install "oci://$host/plugins/acme/pushed@$pushed" --yes
run acp-runtime plugin install "oci://$host/plugins/acme/pushed@$pushed" --yes --allow-unsigned "$digest"

echo; echo "# What wkg puts where its name leads, acp-runtime finds by it. (wkg publish wants a version in the component's WIT.)"
build acme:named 2.0.0 named.wasm
digest=sha256:$(sha256sum named.wasm | cut -d' ' -f1)
refused wkg publish --package acme:named@2.0.0 named.wasm
run wkg oci push "$host/plugins/acme/named:2.0.0" named.wasm
run acp-runtime plugin install acme:named --yes --allow-unsigned "$digest"
run acp-runtime plugin verify --all
acp-runtime plugin list --json > list.json
run grep -cE '"id":"acme:(pushed|named)"' list.json
run acp-runtime run '/call named__list {}'

echo; echo "# What is no plugin is refused, whoever has published it."
printf '\0asm\r\0\1\0' > bare.wasm
run wkg oci push "$host/plugins/acme/bare:1.0.0" bare.wasm
refused acp-runtime plugin install acme:bare@1.0.0 --yes
