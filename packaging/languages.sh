# SPDX-License-Identifier: MIT
# Sourced by scripts/release: one archive for each language but Python, and the page.

# packed NAME FOLDER...: packs the licence and folders as NAME.tar.gz. Links to other pages become those of the project.
packed() {
    name=$1
    shift
    mkdir "$place/$name"
    (cd "$tree" && cp --parents -r LICENSE "$@" "$place/$name")
    find "$place/$name" -name README.md -exec sed -i 's,](\.\./\.\./,](https://github.com/bloomfile/bloomfile/blob/main/,g' {} +
    archive "$name"
}

make_page() {
    "$tree/web/build.py" --check
    cp "$tree/web/index.html" "$out/bloomfile-$version.html"
}
# The tests compare the page with the static tools, if these were made before.
try_page() {
    cmp "$files/bloomfile-$version.html" web/index.html
    mkdir -p "$here/tools"
    tar -C "$here/tools" --strip-components 1 -xf "$files/bloomfile-$version-linux-$(uname -m).tar.gz" || not_run "needs the part tarball"
    BLOOMFILE_TOOLS=$here/tools/bin web/test
}
part_page() {
    need python3 chromium chromium-driver
    made page make_page
    prove "*.html" "web/test in headless Chromium" try_page
}

make_sql() {
    packed "bloomfile-sqlite-$version" bindings/sql bindings/sqlite
    packed "bloomfile-postgresql-$version" bindings/sql bindings/postgresql
}
sql_system() {
    ls "$files"/libbloomfile-dev_*.deb || not_run "needs the part deb"
    empty sql
    mkdir "$here/sql/packages"
    cp "$files"/libbloomfile*.deb "$here/sql/packages"
    inside sql sh -c 'apt-get install -y -qq --no-install-recommends /packages/libbloomfile-dev_* /packages/libbloomfile[0-9]_*'
    install_in sql gcc libc6-dev make pkg-config "$@"
}
try_sqlite() {
    sql_system sqlite3 libsqlite3-dev
    tar -C "$here/sql" --strip-components 1 --no-same-owner -xf "$files/bloomfile-sqlite-$version.tar.gz"
    example_in sql sqlite 'make -s -C /bindings/sqlite OUT=/example; . ./ten.sh'
}
try_postgresql() {
    sql_system postgresql postgresql-server-dev-all
    tar -C "$here/sql" --strip-components 1 --no-same-owner -xf "$files/bloomfile-postgresql-$version.tar.gz"
    example_in sql postgresql 'make -s -C /bindings/postgresql with_llvm=no all install >&2
        chmod 755 /example; cp ten.sql /tmp
        runuser -u postgres -- sh -euc "
            PATH=\$(pg_config --bindir):\$PATH
            cd /tmp && initdb -D data >&2 && pg_ctl -D data -o \"-c listen_addresses=\" -w start >&2
            psql -q -c \"CREATE EXTENSION bloomfile\"
            psql -qAt -f ten.sql
            pg_ctl -D data stop >&2"'
}
part_sql() {
    made "extensions for SQL" make_sql
    prove "*-sqlite-*" "README for SQLite in an empty Debian 12" try_sqlite
    prove "*-postgresql-*" "README for PostgreSQL in an empty Debian 12" try_postgresql
    [ -z "$prove" ] || gone sql
}

go_module=github.com/bloomfile/bloomfile/bindings/go
make_go() {
    packed=$place/$go_module@$go_version
    mkdir -p "$(dirname "$packed")"
    cp -r "$tree/bindings/go" "$packed"
    rm -r "$packed/bench" # a module of its own
    chmod -R u=rwX,go=rX "$packed"
    find "$packed" -exec touch -d "@$when" {} +
    (cd "$place" && find github.com -type f | LC_ALL=C sort | TZ=UTC zip -q -X -D -@ "$out/bloomfile-go-$go_version.zip")
}
# The module comes from a folder; what it needs comes from the usual proxy.
try_go() {
    example go
    proxy=$here/example/proxy/$go_module/@v
    mkdir -p "$proxy"
    cp "$files/bloomfile-go-$go_version.zip" "$proxy/$go_version.zip"
    cp "$root/bindings/go/go.mod" "$proxy/$go_version.mod"
    echo "{\"Version\":\"$go_version\"}" >"$proxy/$go_version.info"
    echo "$go_version" >"$proxy/list"
    PATH=$PATH:/usr/local/go/bin:/usr/lib/go/bin
    GOPROXY=file://$here/example/proxy,$(go env GOPROXY) GONOSUMDB=$go_module GOFLAGS=-modcacherw GOMODCACHE=$here/example/modules
    export GOPROXY GONOSUMDB GOFLAGS GOMODCACHE
    go mod init example.org/fruit
    go get "$go_module@$go_version" || not_run "the proxy for Go modules is out of reach"
    go run . | diff "$here/expected" -
}
part_go() {
    need zip
    made "Go module" make_go
    prove "*-go-*" "its README: go get from a folder as GOPROXY" try_go
}

make_npm() {
    (cd "$out" && npm pack --silent "$tree/bindings/js")
}
try_npm() {
    example js
    npm install --silent "$files/bloomfile-$semver.tgz"
    node ten.mjs | diff "$here/expected" -
}
check_npm() {
    npm publish --dry-run --tag next "$files/bloomfile-$semver.tgz"
}
part_npm() {
    command -v npm >/dev/null || need nodejs npm
    made "npm package" make_npm
    prove "*.tgz" "its README: npm install FILE" try_npm
    prove "*.tgz" "npm publish --dry-run" check_npm
}

make_crate() {
    cd "$tree/bindings/rust" || exit
    export CARGO_TARGET_DIR="$place/target" CARGO_TERM_COLOR=never
    cargo fetch || not_run "crates.io is out of reach"
    cargo package --allow-dirty --no-verify
    mv "$place/target/package"/*.crate "$out"
}
try_crate() {
    example rust
    mkdir src bloomfile
    mv main.rs src
    tar -C bloomfile --strip-components 1 -xf "$files/bloomfile-$semver.crate"
    printf '[package]\nname = "fruit"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nbloomfile = { path = "bloomfile" }\n' >Cargo.toml
    cargo run --quiet | diff "$here/expected" -
}
check_crate() {
    rm -rf "$here/example"
    sources "$here/example"
    CARGO_TARGET_DIR=$here/example/target cargo publish --dry-run --allow-dirty --manifest-path "$here/example/bindings/rust/Cargo.toml"
    ! grep -q '^warning: manifest has no' "$log"
}
part_crate() {
    command -v cargo >/dev/null || need cargo rustc
    made "Rust crate" make_crate
    prove "*.crate" "its README: dependency by path" try_crate
    prove "*.crate" "cargo publish --dry-run" check_crate
}

make_jars() {
    scripts/java-package || { [ $? != 2 ] || not_run "Maven's registry is out of reach"; exit 1; }
    find "$BUILD/java-package/deployed" -name '*.jar' -o -name '*.pom' >"$here/jars"
}
# Jars come from a folder with the layout of a repository; plugins from the usual registry.
try_jar() {
    example java
    mkdir -p src/main/java
    mv Main.java src/main/java
    cat >pom.xml <<END
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId>
  <artifactId>fruit</artifactId>
  <version>1</version>
  <properties><maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target></properties>
  <repositories><repository><id>files</id><url>file://$here/example/repository</url></repository></repositories>
  <dependencies>
$(cat dependency.xml)
  </dependencies>
</project>
END
    for file in "$files"/*.pom; do
        name=$(basename "$file" "-$version.pom")
        folder=repository/$(sed -n 's:^  <groupId>\(.*\)</groupId>$:\1:p' "$root/bindings/pom.xml" | tr . /)/$name/$version
        mkdir -p "$folder"
        cp "$files/$name-$version"[.-]* "$folder"
    done
    mvn -q -B -Dmaven.repo.local="$here/example/local" dependency:build-classpath -Dmdep.outputFile=path compile
    java -cp "target/classes:$(cat path)" Main | diff "$here/expected" -
}
# Spark is PyPI's; its driver has the wheel for this machine, if the part wheels was made before.
try_spark() {
    example spark
    ls "$files"/*-cp311-abi3-manylinux*"$(uname -m).whl" || not_run "needs the part wheels"
    /usr/bin/python3 -m venv environment
    environment/bin/pip install -q pyspark==3.5.9 "$files"/*-cp311-abi3-manylinux*"$(uname -m).whl" || not_run "PyPI is out of reach"
    environment/bin/python ten.py "$files/bloomfile-$version.jar,$files/bloomfile-spark-$version.jar" | diff "$here/expected" -
}
part_jars() {
    need default-jdk-headless maven
    step "jars, twice; Central's rules; Java 11 to 21" make_jars
    publish $(cat "$here/jars")
    prove "*.jar *.pom" "made twice; rules of Maven Central; tests on Java 11, 17, 21" true
    prove "bloomfile-$version.jar bloomfile-$version.pom bloomfile-parent-*" "its README: Maven, from a folder" try_jar
    prove "bloomfile-spark-$version.jar" "its README: Spark 3.5 with the wheel" try_spark
}
