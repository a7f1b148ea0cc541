#!/usr/bin/env bash
# run-search-engine.sh NAME FOLDER CONFIG DATA PORT: becomes the server that build-search-engines.sh put into FOLDER. It
# prints READY when it serves HTTP on 127.0.0.1:PORT; SIGTERM ends it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/search-engines
name=$1 folder=$2 config=$3 data=$4 port=$5
cd "$folder"
flags=(-Xms512m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "-Djava.io.tmpdir=$data")
elasticsearch=(
  "-Des.nativelibs.path=$folder/nativelibs" -Dorg.elasticsearch.nativeaccess.enableVectorLibrary=false
  --add-modules=jdk.net,jdk.management.agent,ALL-MODULE-PATH --module-path lib -cp classes
)
java() { exec "$("$here/find-jdk.sh" "$1")/bin/java" "${flags[@]}" "${@:2}" home "$config" "$data" "$port"; }
case $name in
  opensearch-2 | opensearch-2-security) java 17 -cp 'classes:lib/*' OpenSearchNode ;;
  opensearch-3) java 21 --enable-native-access=ALL-UNNAMED -cp 'classes:lib/*' OpenSearchNode ;;
  elasticsearch-8) java 17 "${elasticsearch[@]}" ElasticsearchNode ;;
  elasticsearch-9)
    java 21 --enable-native-access=org.elasticsearch.nativeaccess,org.apache.lucene.core "${elasticsearch[@]}" ElasticsearchNode
    ;;
esac
