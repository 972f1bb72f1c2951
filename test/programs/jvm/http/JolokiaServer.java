import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.Executors;
import org.jolokia.backend.BackendManager;
import org.jolokia.config.ConfigKey;
import org.jolokia.config.Configuration;
import org.jolokia.http.HttpRequestHandler;
import org.jolokia.restrictor.AllowAllRestrictor;
import org.jolokia.util.LogHandler;

/**
 * Jolokia's own request handler behind the JDK's HTTP server, as its JVM agent has it: Debian packages the core, but not the agent.
 * POST `/jolokia/` is Jolokia; GET `/beans` is what this JVM's own MXBeans say. Prints its port; ends with its standard input.
 */
public final class JolokiaServer {
  private static final LogHandler SILENT = new LogHandler() {
    @Override public void debug(String message) {}
    @Override public void info(String message) {}
    @Override public void error(String message, Throwable cause) {}
  };

  public static void main(String[] arguments) throws IOException {
    Configuration configuration = new Configuration(ConfigKey.AGENT_ID, "test");
    BackendManager backend = new BackendManager(configuration, SILENT, new AllowAllRestrictor());
    HttpRequestHandler handler = new HttpRequestHandler(configuration, backend, SILENT);
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/jolokia/", exchange -> answer(exchange, "text/plain",
        handler.handlePostRequest("/jolokia/", exchange.getRequestBody(), "UTF-8", Map.of()).toJSONString()));
    server.createContext("/beans", exchange -> answer(exchange, "application/json", beans()));
    server.setExecutor(Executors.newFixedThreadPool(2, task -> {
      Thread thread = new Thread(task);
      thread.setDaemon(true);
      return thread;
    }));
    server.start();
    System.out.println(server.getAddress().getPort());
    while (System.in.read() >= 0) {
      // Nothing is said on it: its end is the end.
    }
    System.exit(0);
  }

  private static void answer(HttpExchange exchange, String type, String text) throws IOException {
    byte[] body = text.getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", type);
    exchange.sendResponseHeaders(200, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  private static String beans() {
    StringBuilder text = new StringBuilder("{\"classes\":{\"loaded\":");
    text.append(ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount());
    text.append(",\"unloaded\":").append(ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount());
    text.append("},\"heap\":").append(json(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage()));
    text.append(",\"nonHeap\":").append(json(ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage()));
    String before = ",\"pools\":{";
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      text.append(before).append('"').append(pool.getName()).append("\":{\"type\":\"").append(pool.getType().name());
      text.append("\",\"usage\":").append(json(pool.getUsage()));
      text.append(",\"collectionUsage\":").append(json(pool.getCollectionUsage())).append('}');
      before = ",";
    }
    before = "},\"collectors\":{";
    for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) {
      text.append(before).append('"').append(gc.getName()).append("\":{\"count\":").append(gc.getCollectionCount());
      text.append(",\"timeMs\":").append(gc.getCollectionTime()).append('}');
      before = ",";
    }
    return text.append("}}").toString();
  }

  private static String json(MemoryUsage usage) {
    if (usage == null) return "null";
    return "{\"init\":" + usage.getInit() + ",\"used\":" + usage.getUsed() + ",\"committed\":" + usage.getCommitted()
        + ",\"max\":" + usage.getMax() + "}";
  }
}
