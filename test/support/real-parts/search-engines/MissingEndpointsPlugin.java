import java.util.*;
import java.util.function.*;
import org.elasticsearch.Build;
import org.elasticsearch.action.bulk.*;
import org.elasticsearch.action.delete.DeleteRequest;
import org.elasticsearch.action.search.*;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.cluster.metadata.IndexNameExpressionResolver;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.common.Strings;
import org.elasticsearch.common.io.stream.NamedWriteableRegistry;
import org.elasticsearch.common.settings.*;
import org.elasticsearch.core.TimeValue;
import org.elasticsearch.features.NodeFeature;
import org.elasticsearch.plugins.*;
import org.elasticsearch.rest.*;
import org.elasticsearch.search.SearchHit;
import org.elasticsearch.search.builder.SearchSourceBuilder;
import org.elasticsearch.xcontent.*;

/** Test-only stand-ins for two REST endpoints whose modules (rest-root, reindex) are not on Maven Central: GET / and _delete_by_query. ES 8.17/9.0. */
public class MissingEndpointsPlugin extends Plugin implements ActionPlugin {
    @Override
    public Collection<RestHandler> getRestHandlers(Settings st, NamedWriteableRegistry nw, RestController rc, ClusterSettings cs, IndexScopedSettings is,
            SettingsFilter sf, IndexNameExpressionResolver ir, Supplier<DiscoveryNodes> nodes, Predicate<NodeFeature> feat) {
        return List.of(new Root(), new Dbq(feat));
    }

    static class Root extends BaseRestHandler {
        public String getName() { return "shim_root"; }
        public List<Route> routes() { return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/")); }
        protected RestChannelConsumer prepareRequest(RestRequest r, NodeClient c) {
            return ch -> {
                Build b = Build.current();
                XContentBuilder x = ch.newBuilder().startObject().field("name", c.getLocalNodeId()).field("cluster_name", "test").startObject("version")
                    .field("number", b.version()).field("build_flavor", b.flavor()).field("build_hash", b.hash()).field("build_date", b.date())
                    .field("build_snapshot", false).field("minimum_wire_compatibility_version", b.minWireCompatVersion())
                    .field("minimum_index_compatibility_version", b.minIndexCompatVersion()).endObject().field("tagline", "You Know, for Search").endObject();
                ch.sendResponse(new RestResponse(RestStatus.OK, x));
            };
        }
    }

    static class Dbq extends BaseRestHandler {
        final Predicate<NodeFeature> feat;
        Dbq(Predicate<NodeFeature> f) { feat = f; }
        public String getName() { return "shim_dbq"; }
        public List<Route> routes() { return List.of(new Route(RestRequest.Method.POST, "/{index}/_delete_by_query")); }
        protected Set<String> responseParams() { return Set.of(); }
        protected RestChannelConsumer prepareRequest(RestRequest r, NodeClient c) throws java.io.IOException {
            String[] idx = Strings.splitStringByCommaToArray(r.param("index"));
            boolean refresh = r.paramAsBoolean("refresh", false), proceed = "proceed".equals(r.param("conflicts"));
            for (String p : List.of("wait_for_completion", "scroll_size", "slices", "routing", "timeout", "ignore_unavailable", "allow_no_indices", "expand_wildcards", "requests_per_second", "search_timeout", "max_docs")) r.param(p);
            SearchSourceBuilder src = new SearchSourceBuilder();
            if (r.hasContentOrSourceParam()) try (XContentParser p = r.contentOrSourceParamParser()) { src.parseXContent(p, true, feat); }
            src.size(1000).fetchSource(false).seqNoAndPrimaryTerm(true);
            return ch -> c.threadPool().generic().execute(() -> {
                try {
                    long t0 = System.currentTimeMillis(), del = 0, conf = 0, total = 0; List<String> fail = new ArrayList<>();
                    SearchResponse s = c.search(new SearchRequest(idx).source(src).scroll(TimeValue.timeValueMinutes(1))).actionGet();
                    String sid;
                    while (true) {
                        sid = s.getScrollId(); SearchHit[] hits = s.getHits().getHits(); int n = hits.length;
                        BulkRequest b = new BulkRequest();
                        for (SearchHit h : hits) b.add(new DeleteRequest(h.getIndex(), h.getId()).setIfSeqNo(h.getSeqNo()).setIfPrimaryTerm(h.getPrimaryTerm()));
                        s.decRef();
                        if (n == 0) break;
                        total += n;
                        for (BulkItemResponse i : c.bulk(b).actionGet().getItems()) { if (!i.isFailed()) del++; else if (i.getFailure().getStatus() == RestStatus.CONFLICT) conf++; else fail.add(i.getFailureMessage()); }
                        s = c.searchScroll(new SearchScrollRequest(sid).scroll(TimeValue.timeValueMinutes(1))).actionGet();
                    }
                    ClearScrollRequest cr = new ClearScrollRequest(); cr.addScrollId(sid); c.clearScroll(cr).actionGet();
                    if (refresh) c.admin().indices().prepareRefresh(idx).get();
                    XContentBuilder x = ch.newBuilder().startObject().field("took", System.currentTimeMillis() - t0).field("timed_out", false).field("total", total)
                        .field("deleted", del).field("batches", (total + 999) / 1000).field("version_conflicts", conf).field("noops", 0).field("failures", fail).endObject();
                    ch.sendResponse(new RestResponse(conf > 0 && !proceed ? RestStatus.CONFLICT : RestStatus.OK, x));
                } catch (Exception e) {
                    try { ch.sendResponse(new RestResponse(ch, e)); } catch (Exception ignored) { }
                }
            });
        }
    }
}
