import java.lang.reflect.Method;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;

/** ElasticsearchNode HOME CONFIG DATA HTTP_PORT: one node of Elasticsearch 8 or 9, as a test needs it. Prints READY when HTTP is bound. */
public class ElasticsearchNode {
    public static void main(String[] args) throws Exception {
        java.io.PrintStream out = System.out; // LogConfigurator sends System.out into log4j
        Path home = Paths.get(args[0]).toAbsolutePath(), config = Paths.get(args[1]).toAbsolutePath();
        System.setProperty("es.path.home", home.toString());
        System.setProperty("es.path.conf", config.toString());
        LogConfigurator.configureESLogging();
        Settings settings = Settings.builder()
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
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings, Collections.emptyMap(), config, () -> "n1");
        LogConfigurator.registerErrorListener();
        LogConfigurator.setNodeName("n1");
        LogConfigurator.configure(environment, true);
        Node node = newNode(environment, home);
        node.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { try { node.close(); } catch (Exception e) { } }));
        out.println("READY 127.0.0.1:" + args[3]);
        out.flush();
        new CountDownLatch(1).await();
    }

    /** 8.x loads HOME/modules and HOME/plugins itself; 9.x is given a loader of them. */
    private static Node newNode(Environment environment, Path home) throws Exception {
        try {
            return Node.class.getConstructor(Environment.class).newInstance(environment);
        } catch (NoSuchMethodException nine) {
            Class<?> loader = Class.forName("org.elasticsearch.plugins.PluginsLoader");
            Method create = loader.getMethod("createPluginsLoader", Set.class, Set.class, Map.class);
            Object modules = loader.getMethod("loadModulesBundles", Path.class).invoke(null, home.resolve("modules"));
            Object plugins = loader.getMethod("loadPluginsBundles", Path.class).invoke(null, home.resolve("plugins"));
            Object loaded = create.invoke(null, modules, plugins, Map.of());
            return Node.class.getConstructor(Environment.class, loader).newInstance(environment, loaded);
        }
    }
}
