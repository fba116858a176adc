#!/bin/sh
# get_toolchain.sh - unpack SPIR-V tools, Intel's offline compiler and lavapipe, without root.
usage() {
  cat <<'TEXT'
usage: get_toolchain.sh [options] [DEST]

Downloads packages of Debian's sid suite, with their own C library, and unpacks them under
DEST/root. Nothing is installed and no package script runs. DEST is by default .toolchain
of the checkout. DEST/bin then holds wrappers:

  spirv-as spirv-val spirv-dis spirv-opt    SPIR-V tools
  ocloc                                     Intel's offline compiler (with IGC)
  python-in-toolchain                       the current venv's python on DEST's C library
                                            (what lavapipe, Mesa's CPU Vulkan driver, loads in)
  mlir-opt mlir-translate llc               with --mlir

and DEST/root/usr what tables are generated from or compared with: the grammar of SPIR-V
in include/spirv, the registry of Vulkan in share/vulkan.

coopc finds .toolchain, else COOPC_TOOLCHAIN=DEST; PATH=DEST/bin:$PATH is for people.
A complete DEST is left alone. DEST/VERSIONS holds the versions; where they differ from
those in toolchain.lock of the checkout, a line says so.

options
  --mlir              also mlir-N-tools and llvm-N (N = COOPC_LLVM_VERSION, default 22)
  --force             unpack again although DEST is complete
  --lock FILE         write the versions to FILE, one "name version" a line
  --check FILE        compare with FILE instead of toolchain.lock
  --mirror URL        archive to use instead of the one in this machine's apt sources
  --suite NAME        default: sid
  --components LIST   default: main
  --keyring FILE      keys that sign the archive; default: the machine's Debian keys

Needs apt, dpkg and an x86-64 host; where that is not Debian, --mirror and --keyring. COOPC_IGC_PACKAGES replaces "libigc2 libigdfcl2".
TEXT
}
set -eu

die() {
  echo "get_toolchain.sh: $*" >&2
  exit 1
}

# toolchain.lock and .toolchain belong to the checkout that this script is in.
checkout=$(cd "$(dirname "$(readlink -f -- "$0")")/.." && pwd)
dest='' mlir='' force='' mirror='' suite=sid components=main keyring=''
lock='' check=''
[ ! -f "$checkout/toolchain.lock" ] || check=$checkout/toolchain.lock
while [ $# -gt 0 ]; do
  case $1 in
    --mlir) mlir=1 ;;
    --force) force=1 ;;
    --mirror | --suite | --components | --keyring | --lock | --check)
      [ $# -gt 1 ] || die "$1 needs a value"
      case $1 in
        --mirror) mirror=$2 ;;
        --suite) suite=$2 ;;
        --components) components=$2 ;;
        --keyring) keyring=$2 ;;
        --lock) lock=$2 ;;
        --check)
          check=$2
          [ -f "$check" ] || die "$check does not exist"
          ;;
      esac
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    -*) die "unknown option $1" ;;
    *)
      [ -z "$dest" ] || die 'one DEST only'
      dest=$1
      ;;
  esac
  shift
done
if [ -z "$dest" ]; then
  [ -f "$checkout/pyproject.toml" ] || die 'not in a checkout of coopc: name a DEST'
  dest=$checkout/.toolchain
fi
[ "$(uname -sm)" = 'Linux x86_64' ] || die 'x86-64 Linux only'
mkdir -p "$dest"
dest=$(cd "$dest" && pwd)

# The marker keeps this script from replacing directories that are not its own.
marker=$dest/.coopc-toolchain
[ -f "$marker" ] || [ -z "$(ls -A "$dest")" ] || die "$dest is neither empty nor a toolchain"
: >>"$marker"

llvm=${COOPC_LLVM_VERSION:-22}
packages="spirv-tools spirv-headers libvulkan-dev intel-ocloc ${COOPC_IGC_PACKAGES:-libigc2 libigdfcl2} mesa-vulkan-drivers"
if [ -n "$mlir" ] || grep -qs '^mlir-' "$dest/VERSIONS"; then
  packages="$packages mlir-$llvm-tools llvm-$llvm"
  mlir=1
fi

# Write the lock file if one is wanted, else compare with it. A package that only one of
# the two has is no difference.
report_versions() {
  cat "$dest/VERSIONS"
  if [ -n "$lock" ]; then
    {
      echo '# The versions that figures in the tests were measured with:'
      echo '# written by tools/get_toolchain.sh --lock.'
      cat "$dest/VERSIONS"
    } >"$lock.new"
    mv "$lock.new" "$lock"
  elif [ -n "$check" ]; then
    awk 'NR == FNR { locked[$1] = $2; next }
      $1 in locked && $2 != locked[$1] {
        found = found sep $1 " is " $2 ", locked " locked[$1]
        sep = "; "
      }
      END { if (found) print "note: not the versions of toolchain.lock: " found }
    ' "$check" "$dest/VERSIONS"
  fi
}

# VERSIONS is written last, so it marks a complete tree.
is_complete() {
  for p in $packages; do
    grep -qs "^$p " "$dest/VERSIONS" || return 1
  done
}
if [ -z "$force" ] && is_complete; then
  echo "$dest is complete:"
  report_versions
  exit 0
fi

missing=''
for tool in apt-get apt-cache apt-config dpkg-deb; do
  command -v $tool >/dev/null || missing="$missing $tool"
done
[ -z "$missing" ] || die "not found:$missing. It takes apt and dpkg, which any Debian or
  Ubuntu has and most others offer as packages; or put spirv-as, spirv-val and spirv-dis on PATH"

# The distribution's own archives: those that apt knows as Debian's, then those that only
# have the name of its release.
# shellcheck disable=SC2016
machine_mirrors() {
  # shellcheck disable=SC1091
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  fields='$(RELEASE) $(REPO_URI)'
  {
    apt-get indextargets --format "$fields" 'Created-By: Packages' 'Origin: Debian'
    apt-get indextargets --no-release-info --format "$fields" 'Created-By: Packages' \
      'Component: main'
  } | awk -v name="$codename" '
    $1 ~ "^(" name "|sid|unstable|testing|stable)$" && !seen[$2]++ { print $2 }'
}

mirrors=${mirror:-$(machine_mirrors)}
[ -n "$mirrors" ] || die "this machine's apt sources name no Debian archive: give one with
  --mirror URL, and its keys with --keyring FILE (of the package debian-archive-keyring)"
if [ -z "$keyring" ]; then
  for f in /usr/share/keyrings/debian-archive-keyring.pgp \
    /usr/share/keyrings/debian-archive-keyring.gpg; do
    if [ -f "$f" ]; then
      keyring=$f
      break
    fi
  done
fi

apt=$dest/.apt
new=$dest/.root.new
trap 'rm -rf "$apt" "$new"' EXIT
trap 'exit 1' HUP INT PIPE TERM
rm -rf "$apt" "$new"
mkdir -p "$apt/etc/parts" "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/bin" "$new"
: >"$apt/status"
: >"$apt/versions"

# A private apt: the machine's proxies, credentials and keys, but none of its hooks, lists
# or installed packages.
netrc='' netrcparts='' trusted='' trustedparts=''
eval "$(apt-config shell netrc Dir::Etc::netrc/f netrcparts Dir::Etc::netrcparts/d \
  trusted Dir::Etc::trusted/f trustedparts Dir::Etc::trustedparts/d)"
{
  apt-config dump Acquire
  cat <<CONF
Dir::Etc "$apt/etc/";
Dir::Etc::main "apt.conf";
Dir::Etc::parts "parts";
Dir::Etc::sourcelist "$apt/etc/sources.list";
Dir::Etc::sourceparts "parts";
Dir::Etc::preferences "preferences";
Dir::Etc::preferencesparts "parts";
Dir::Etc::netrc "$netrc";
Dir::Etc::netrcparts "$netrcparts";
Dir::Etc::trusted "$trusted";
Dir::Etc::trustedparts "$trustedparts";
Dir::State "$apt/";
Dir::State::lists "$apt/lists/";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache/";
Dir::Cache::archives "archives/";
Dir::Log "$apt/";
Debug::NoLocking "true";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Install-Recommends "false";
Acquire::Languages "none";
CONF
} >"$apt/apt.conf"
export APT_CONFIG="$apt/apt.conf"

update() {
  apt-get -qq "$@" update >"$apt/log" 2>&1 && apt-cache show spirv-tools >/dev/null 2>&1
}
found=''
for uri in $mirrors; do
  signed=${keyring:+ signed-by=$keyring}
  echo "deb [arch=amd64$signed] $uri $suite $components" >"$apt/etc/sources.list"
  if update; then
    found=1
  elif update -o Acquire::Check-Valid-Until=false -o Acquire::Check-Date=false; then
    echo "note: the Release file of $suite is out of date, its dates were not checked" >&2
    found=1
  fi
  [ -z "$found" ] || break
  cat "$apt/log" >&2
done
[ -n "$found" ] || die "no archive offers $suite with a valid signature: see above, and
  --mirror and --keyring"

for p in $packages; do
  apt-cache show --no-all-versions "$p" >/dev/null 2>&1 ||
    die "$suite has no package $p; see --help for other names"
done
# shellcheck disable=SC2086
if ! apt-get -qq -y --download-only install $packages >"$apt/log" 2>&1; then
  cat "$apt/log" >&2
  die 'download failed'
fi
echo "downloaded $(du -sm "$apt/cache/archives" | cut -f1) MB"

# shellcheck disable=SC2016
for deb in "$apt"/cache/archives/*.deb; do
  dpkg-deb -x "$deb" "$new"
  dpkg-deb --show --showformat '${Package} ${Version}\n' "$deb" >>"$apt/versions"
done
for d in doc info lintian locale man bug; do
  rm -rf "$new/usr/share/${d:?}"
done
for driver in asahi freedreno gfxstream intel_hasvk nouveau virtio; do
  rm -f "$new"/usr/lib/*/libvulkan_$driver.so "$new"/usr/share/vulkan/icd.d/$driver*_icd.json
done

libs=usr/lib/x86_64-linux-gnu
loader=$libs/ld-linux-x86-64.so.2
[ -x "$new/$loader" ] || die "no $loader in the unpacked tree"

# wrap NAME PROGRAM: DEST/bin/NAME starts PROGRAM through the tree's own loader and libraries.
wrap() {
  [ -x "$new/$2" ] || die "no $2 in the unpacked tree"
  cat >"$apt/bin/$1" <<WRAPPER
#!/bin/sh
self=\$0
[ ! -L "\$self" ] || self=\$(readlink -f -- "\$self")
root=\${self%/*}/../root
exec "\$root/$loader" --argv0 "\$0" --library-path "\$root/$libs" "\$root/$2" "\$@"
WRAPPER
}
for t in spirv-as spirv-val spirv-dis spirv-opt; do
  wrap $t usr/bin/$t
done
for ocloc in "$new"/usr/bin/ocloc*; do # its name holds its version
  wrap ocloc "${ocloc#"$new/"}"
done
if [ -n "$mlir" ]; then
  for t in mlir-opt mlir-translate llc; do
    wrap $t "usr/lib/llvm-$llvm/bin/$t"
  done
fi
cat >"$apt/bin/python-in-toolchain" <<WRAPPER
#!/bin/sh
# The python of COOPC_PYTHON, of the active venv, or python3, on this tree's C library, so
# that it can load this tree's Vulkan driver.
set -e
top=\$(readlink -f -- "\$0")
top=\${top%/bin/*}
python=\${COOPC_PYTHON:-\${VIRTUAL_ENV:+\$VIRTUAL_ENV/bin/python}}
python=\$("\${python:-python3}" -c 'import sys; print(sys.executable)')
export COOPC_TOOLCHAIN="\$top"
exec "\$top/root/$loader" --argv0 "\$python" --library-path "\$top/root/$libs" \\
  "\$(readlink -f -- "\$python")" "\$@"
WRAPPER
chmod +x "$apt"/bin/*

for p in $packages libc6; do
  grep "^$p " "$apt/versions"
done >"$apt/VERSIONS"
rm -rf "$dest/VERSIONS" "$dest/root" "${dest:?}/bin"
mv "$new" "$dest/root"
mv "$apt/bin" "$dest/bin"
mv "$apt/VERSIONS" "$dest/VERSIONS"
report_versions
echo "$dest: $(du -sm "$dest/root" | cut -f1) MB; add $dest/bin to PATH"
