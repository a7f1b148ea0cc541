#!/usr/bin/env bash
# build-search-engines.sh NAME...: fetches opensearch-2, opensearch-3, opensearch-2-security, elasticsearch-8 or
# elasticsearch-9 from Maven Central into the cache outside the checkout, once per version, and prints the folder of each.
# Needs mvn, a JDK 17 and a JDK 21 or later. run-search-engine.sh starts them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/search-engines
cache="${XDG_CACHE_HOME:-$HOME/.cache}/fleetsearch"
security_plugin=2.19.1.0
mkdir -p "$cache"

fetch() { # fetch POM FOLDER
  mvn -B -q -f "$here/pom-$1.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$PWD/$2" >&2
}
descriptor() { # descriptor FOLDER NAME CLASS opensearch|elasticsearch VERSION JAVA [EXTENDED]
  printf '%s\n' "description=$2" "name=$2" "classname=$3" "version=$5" "$4.version=$5" "java.version=$6" \
    "extended.plugins=${7:-}" has.native.controller=false >"$1/plugin-descriptor.properties"
}
logging() { # logging FOLDER: warnings and worse go to standard output
  printf '%s\n' 'status = error' 'appender.c.type = Console' 'appender.c.name = c' 'appender.c.layout.type = PatternLayout' \
    'appender.c.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n' 'rootLogger.level = warn' 'rootLogger.appenderRef.c.ref = c' \
    >"$1/log4j2.properties"
}

opensearch() { # opensearch NAME JAVA
  fetch "$1" lib
  "$("$here/find-jdk.sh" "$2")/bin/javac" -nowarn -d classes -cp 'lib/*' "$here/OpenSearchNode.java"
}
opensearch_security() { # with modules and plugins in folders of their own, as the plugin wants it
  local version=$1 jar
  fetch opensearch-2-security all
  fetch opensearch-2-security-core lib
  module() { # module NAME CLASS EXTENDED PATTERN: those jars that the server itself does not have
    mkdir -p "home/modules/$1"
    for jar in all/*; do
      if [[ $(basename "$jar") =~ ^($4) ]] && ! [ -e "lib/$(basename "$jar")" ]; then cp "$jar" "home/modules/$1/"; fi
    done
    descriptor "home/modules/$1" "$1" "$2" opensearch "$version" 11 "$3"
  }
  module transport-netty4 org.opensearch.transport.Netty4Plugin '' 'netty-|transport-netty4'
  module lang-painless org.opensearch.painless.PainlessPlugin '' 'lang-painless|antlr4|asm-|opensearch-scripting-painless'
  module analysis-common org.opensearch.analysis.common.CommonAnalysisPlugin lang-painless analysis-common
  module reindex org.opensearch.index.reindex.ReindexPlugin '' 'reindex-client|opensearch-rest-client|opensearch-ssl-config|http|commons-'
  rm -r all
  mvn -B -q -f "$here/pom-opensearch-2-security.xml" dependency:copy -DoutputDirectory="$PWD" \
    -Dartifact="org.opensearch.plugin:opensearch-security:$security_plugin:zip" >&2
  mkdir -p home/plugins/opensearch-security config/opensearch-security
  (cd home/plugins/opensearch-security && jar xf "../../../opensearch-security-$security_plugin.zip")
  rm "opensearch-security-$security_plugin.zip"
  cp home/plugins/opensearch-security/config/*.yml config/opensearch-security/
  "$("$here/find-jdk.sh" 17)/bin/javac" -nowarn -d classes -cp 'lib/*' "$here/OpenSearchNode.java"
}
elasticsearch() { # elasticsearch NAME VERSION JAVA
  local javac jar netty='^(netty-|transport-netty4|elasticsearch-ssl-config)'
  javac=$("$here/find-jdk.sh" "$3")/bin/javac
  fetch "$1" lib
  mkdir -p home/modules/transport-netty4 home/plugins/missing-endpoints nativelibs endpoints
  "$javac" -nowarn -d classes -cp 'lib/*' "$here/ElasticsearchNode.java"
  "$javac" -nowarn -d endpoints -cp 'lib/*' "$here/MissingEndpointsPlugin.java"
  for jar in lib/*; do
    if [[ $(basename "$jar") =~ $netty ]]; then mv "$jar" home/modules/transport-netty4/; fi
  done
  descriptor home/modules/transport-netty4 transport-netty4 org.elasticsearch.transport.netty4.Netty4Plugin elasticsearch "$2" "$3"
  jar cf home/plugins/missing-endpoints/missing-endpoints.jar -C endpoints .
  rm -r endpoints
  descriptor home/plugins/missing-endpoints missing-endpoints MissingEndpointsPlugin elasticsearch "$2" "$3"
  ln -s "$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk '/libzstd.so.1/ {print $NF; exit}')" nativelibs/libzstd.so
}

[ $# -gt 0 ] || set -- opensearch-2 opensearch-3 opensearch-2-security elasticsearch-8 elasticsearch-9
for name in "$@"; do
  version=$(sed -n 's:.*<engine.version>\(.*\)</engine.version>.*:\1:p' "$here/pom-$name.xml")
  [ -n "$version" ] || { echo "unknown search engine $name" >&2; exit 1; }
  recipe=$(cat "${BASH_SOURCE[0]}" "$here"/*.{java,xml} | cksum | cut -d' ' -f1)
  out="$cache/$name-$version-$recipe"
  if ! [ -d "$out" ]; then
    echo "fetching $name $version" >&2
    # Made beside its place and renamed, so that a build that is killed leaves no half of one behind.
    partial=$(mktemp -d "$cache/.$name.XXXXXX")
    trap 'rm -rf "$partial"' EXIT
    (
      cd "$partial"
      mkdir classes home config
      logging config
      case $name in
        opensearch-2) opensearch "$name" 17 ;;
        opensearch-3) opensearch "$name" 21 ;;
        opensearch-2-security) opensearch_security "$version" ;;
        elasticsearch-8) elasticsearch "$name" "$version" 17 ;;
        elasticsearch-9) elasticsearch "$name" "$version" 21 ;;
      esac
    )
    mv -T "$partial" "$out" 2>/dev/null || rm -rf "$partial" # somebody else was quicker
  fi
  echo "$out"
done
