import java.lang.reflect.Constructor;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.CountDownLatch;
import org.opensearch.Version;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.PluginInfo;

/**
 * OpenSearchNode HOME CONFIG DATA HTTP_PORT: one node of OpenSearch 2.19 or 3, as a test needs it. Prints READY when HTTP
 * is bound. HOME/modules and HOME/plugins are loaded as in a real install; where there is no HOME/modules, the modules are
 * taken from the class path. CONFIG/settings.properties holds further settings; a key that ends in `.list` has several
 * values, apart by `;`.
 */
public class OpenSearchNode {
    private static final String[][] MODULES = { // the class of a module in 2.x, in 3.x
        {"org.opensearch.transport.Netty4Plugin", "org.opensearch.transport.Netty4ModulePlugin"},
        {"org.opensearch.painless.PainlessPlugin", "org.opensearch.painless.PainlessModulePlugin"},
        {"org.opensearch.analysis.common.CommonAnalysisPlugin", "org.opensearch.analysis.common.CommonAnalysisModulePlugin"},
        {"org.opensearch.index.reindex.ReindexPlugin", "org.opensearch.index.reindex.ReindexModulePlugin"},
        {"org.opensearch.join.ParentJoinPlugin", "org.opensearch.join.ParentJoinModulePlugin"},
        {"org.opensearch.script.mustache.MustachePlugin", "org.opensearch.script.mustache.MustacheModulePlugin"},
    };

    public static void main(String[] args) throws Exception {
        java.io.PrintStream out = System.out; // LogConfigurator sends System.out into log4j
        Path home = Paths.get(args[0]).toAbsolutePath(), config = Paths.get(args[1]).toAbsolutePath();
        Settings settings = further(config.resolve("settings.properties"))
            .put("path.home", home.toString())
            .put("path.data", args[2])
            .put("path.logs", args[2])
            .put("cluster.name", "test").put("node.name", "n1")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", args[3])
            .put("transport.port", "0")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .put("node.processors", 2)
            .build();
        System.setProperty("opensearch.path.home", home.toString());
        System.setProperty("opensearch.path.conf", config.toString());
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings, Collections.emptyMap(), config, () -> "n1");
        LogConfigurator.registerErrorListener();
        LogConfigurator.setNodeName("n1");
        LogConfigurator.configure(environment);
        Node node = newNode(environment, Files.isDirectory(home.resolve("modules")) ? List.of() : classPathModules());
        node.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { try { node.close(); } catch (Exception e) { } }));
        out.println("READY " + node.injector().getInstance(HttpServerTransport.class).boundAddress().publishAddress());
        out.flush();
        new CountDownLatch(1).await();
    }

    private static Settings.Builder further(Path file) throws Exception {
        Settings.Builder builder = Settings.builder();
        if (!Files.exists(file)) return builder;
        Properties properties = new Properties();
        try (java.io.Reader reader = Files.newBufferedReader(file)) { properties.load(reader); }
        for (String key : properties.stringPropertyNames()) {
            String value = properties.getProperty(key);
            if (key.endsWith(".list")) builder.putList(key.substring(0, key.length() - 5), value.split(";"));
            else builder.put(key, value);
        }
        return builder;
    }

    private static List<Object> classPathModules() throws Exception {
        List<Object> modules = new ArrayList<>();
        boolean three = Version.CURRENT.major >= 3;
        for (String[] names : MODULES) {
            Class<?> module = Class.forName(names[three ? 1 : 0]);
            modules.add(three
                ? new PluginInfo(module.getName(), "classpath", "NA", Version.CURRENT, "1.8", module.getName(), null, Collections.emptyList(), false)
                : module);
        }
        return modules;
    }

    /** The constructor that tests of OpenSearch itself use; it takes classes in 2.x and descriptions in 3.x. */
    private static Node newNode(Environment environment, List<Object> modules) throws Exception {
        for (Constructor<?> constructor : Node.class.getDeclaredConstructors()) {
            if (constructor.getParameterCount() != 3) continue;
            constructor.setAccessible(true);
            return (Node) constructor.newInstance(environment, modules, true);
        }
        throw new IllegalStateException("Node has no constructor of three parameters");
    }
}
