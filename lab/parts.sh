# shellcheck shell=bash
# Installs what tests use beyond cargo, so that none is skipped: `source lab/parts.sh; parts gate` or `parts all`.
#
# Packages come from Debian (as root, or by sudo), PyPI and npm, and only those that are missing. What is not Debian's goes
# to target/parts; its programs are named by HALFPOWER_PYTHON, HALFPOWER_AXE and HALFPOWER_S3RVER from then on.

have() { command -v "$1" >/dev/null 2>&1; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; elif have sudo; then sudo "$@"; else false; fi; }

# A line each: who needs it, how it is seen to be there, the packages that bring it.
debian_parts() {
  cat <<'LIST'
gate cc gcc libc6-dev
gate chromium chromium fonts-dejavu-core
gate sqlite3 sqlite3
gate losetup mount util-linux
gate fuse2fs fuse2fs
gate bwrap bubblewrap
gate mkfs.ext4 e2fsprogs
gate strace strace
gate fio fio
gate smbd samba smbclient
gate ganesha.nfsd nfs-ganesha nfs-ganesha-vfs rpcbind
gate tc iproute2
gate mpicc libopenmpi-dev
gate mpirun openmpi-bin
gate /usr/lib/llvm-*/lib/libclang.so libclang-dev
gate openssl openssl
gate npm npm
gate dpkg-shlibdeps dpkg-dev
gate man man-db
gate zsh zsh
gate fish fish
lab nfs-cp libnfs-utils
lab mpicc.mpich mpich libmpich-dev
lab slurmctld slurmctld
lab srun slurmd slurm-client slurm-wlm-basic-plugins
lab /usr/lib/postgresql/15/bin/postgres postgresql-15
lab valgrind valgrind
lab nginx nginx-light
lab curl curl
lab rclone rclone
lab etcd etcd-server
lab mariadbd mariadb-server-core
lab mariadb-slap mariadb-client
lab db_bench rocksdb-tools
lab ioping ioping
lab podman podman runc
LIST
}

# Installs the parts of the gate, or `all` with those of the laboratory, and exports where they are.
parts() {
  local who sign packages missing=() tools=$PWD/target/parts
  PATH=$PATH:/usr/sbin:/sbin
  while read -r who sign packages; do
    [ "$who" = gate ] || [ "$1" = all ] || continue
    # shellcheck disable=SC2206
    have "$sign" || compgen -G "$sign" >/dev/null || missing+=($packages)
  done < <(debian_parts)
  if ((${#missing[@]})); then
    as_root apt-get update -q >/dev/null
    DEBIAN_FRONTEND=noninteractive as_root apt-get install -qy --no-install-recommends "${missing[@]}" >/dev/null
  fi
  if [ ! -x "$tools/python/bin/fio-plot" ] || [ ! -x "$tools/python/bin/maturin" ] ||
    ! compgen -G "$tools/python/lib/python3*/site-packages/yaml" >/dev/null ||
    ! compgen -G "$tools/python/lib/python3*/site-packages/kubernetes_validate" >/dev/null; then
    python3 -m venv "$tools/python"
    # Where no index answers, it would try for a quarter of an hour without a word.
    timeout 300 "$tools/python/bin/python3" -m pip install --quiet --no-compile fio-plot==1.1.21 duckdb==2.0.0 pandas==3.1.1 matplotlib==3.11.2 \
      jsonschema==4.26.0 mfusepy==3.1.1 maturin==1.16.0 pyyaml==6.0.3 \
      kubernetes-validate==1.37.0 check-jsonschema==0.39.0 || echo "no Python packages: pip ended with $? (124: not in 300 s)" >&2
  fi
  if [ ! -x "$tools/node_modules/.bin/s3rver" ] || [ ! -f "$tools/node_modules/axe-core/axe.min.js" ]; then
    timeout 300 npm install --silent --no-audit --no-fund --no-save --prefix "$tools" s3rver@3.7.1 axe-core@4.14.1 >/dev/null ||
      echo "no npm packages: npm ended with $? (124: not in 300 s)" >&2
  fi
  export HALFPOWER_S3RVER=$tools/node_modules/.bin/s3rver HALFPOWER_PYTHON=$tools/python/bin/python3
  export HALFPOWER_AXE=$tools/node_modules/axe-core/axe.min.js HALFPOWER_NO_SKIP=1
}
