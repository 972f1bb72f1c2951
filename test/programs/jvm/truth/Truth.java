import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A JVM whose condition is known: it does what the lines on its standard input say, and tells what its own MXBeans say.
 *
 * The port it listens on is its argument; 0 takes a free one. Each line gets one line of JSON in answer. `beans`, `gc`, `allocate MB` (garbage), `keep MB`,
 * `load N` (N classes, each in a loader of its own), `drop` (those loaders), `close` (the port). The end of the input ends the JVM.
 */
public final class Truth {
  private static final int CHUNK_BYTES = 64 * 1024;

  /** What `load` defines again and again. Never used itself. */
  static final class Cargo {
    private final long[] weight = new long[4];

    long weigh() {
      return weight.length;
    }
  }

  private static final class CargoLoader extends ClassLoader {
    CargoLoader(byte[] bytes) {
      super(null);
      defineClass("Truth$Cargo", bytes, 0, bytes.length);
    }
  }

  private final List<ClassLoader> loaders = new ArrayList<>();
  private final List<byte[]> kept = new ArrayList<>();
  private final ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
  private final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
  private final List<MemoryPoolMXBean> pools = ManagementFactory.getMemoryPoolMXBeans();
  private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
  private byte[] garbage = new byte[0];

  public static void main(String[] arguments) throws IOException {
    Truth truth = new Truth();
    // The first look loads classes of its own; the ones after it find them there.
    truth.beans();
    truth.beans();
    try (ServerSocket server = new ServerSocket(Integer.parseInt(arguments[0]), 4, InetAddress.getLoopbackAddress())) {
      say("{\"pid\":" + ProcessHandle.current().pid() + ",\"port\":" + server.getLocalPort() + "}");
      Thread http = new Thread(() -> serve(server));
      http.setDaemon(true);
      http.start();
      BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.equals("close")) server.close();
        say(line.equals("close") ? "{}" : truth.answer(line));
      }
    }
  }

  /** One request for each connection, every one answered alike: enough of an application server to have traffic. */
  private static void serve(ServerSocket server) {
    byte[] answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".getBytes(StandardCharsets.US_ASCII);
    while (!server.isClosed()) {
      try (Socket socket = server.accept()) {
        InputStream request = socket.getInputStream();
        int newLines = 0;
        while (newLines < 2) {
          int octet = request.read();
          if (octet < 0) break;
          if (octet != '\r') newLines = octet == '\n' ? newLines + 1 : 0;
        }
        socket.getOutputStream().write(answer);
      } catch (IOException broken) {
        // The client left, or the program ends.
      }
    }
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private String answer(String line) throws IOException {
    int space = line.indexOf(' ');
    String command = space < 0 ? line : line.substring(0, space);
    int number = space < 0 ? 0 : Integer.parseInt(line.substring(space + 1));
    switch (command) {
      case "beans":
        return beans();
      case "gc":
        System.gc();
        return "{}";
      case "allocate":
        for (int i = 0; i < number * (1024 * 1024 / CHUNK_BYTES); i++) garbage = new byte[CHUNK_BYTES];
        return "{}";
      case "keep":
        for (int i = 0; i < number * (1024 * 1024 / CHUNK_BYTES); i++) kept.add(new byte[CHUNK_BYTES]);
        return "{}";
      case "load":
        return load(number);
      case "drop":
        loaders.clear();
        return "{}";
      default:
        return "{\"error\":\"unknown command\"}";
    }
  }

  private String load(int number) throws IOException {
    try (InputStream file = Truth.class.getResourceAsStream("Truth$Cargo.class")) {
      byte[] bytes = file.readAllBytes();
      for (int i = 0; i < number; i++) loaders.add(new CargoLoader(bytes));
    }
    return "{}";
  }

  private String beans() {
    // One allocation for all of it: what the answer costs should not show in the answer.
    StringBuilder json = new StringBuilder(8192);
    json.append("{\"classes\":{\"loaded\":").append(classes.getTotalLoadedClassCount());
    json.append(",\"unloaded\":").append(classes.getUnloadedClassCount()).append("},\"heap\":");
    usage(json, memory.getHeapMemoryUsage());
    json.append(",\"nonHeap\":");
    usage(json, memory.getNonHeapMemoryUsage());
    json.append(",\"pools\":{");
    for (int i = 0; i < pools.size(); i++) {
      MemoryPoolMXBean pool = pools.get(i);
      json.append(i == 0 ? "\"" : ",\"").append(pool.getName()).append("\":{\"type\":\"").append(pool.getType().name());
      json.append("\",\"usage\":");
      usage(json, pool.getUsage());
      json.append(",\"collectionUsage\":");
      usage(json, pool.getCollectionUsage());
      json.append('}');
    }
    json.append("},\"collectors\":{");
    for (int i = 0; i < collectors.size(); i++) {
      GarbageCollectorMXBean collector = collectors.get(i);
      json.append(i == 0 ? "\"" : ",\"").append(collector.getName());
      json.append("\":{\"count\":").append(collector.getCollectionCount());
      json.append(",\"timeMs\":").append(collector.getCollectionTime()).append('}');
    }
    return json.append("}}").toString();
  }

  private static void usage(StringBuilder json, MemoryUsage usage) {
    if (usage == null) {
      json.append("null");
      return;
    }
    json.append("{\"init\":").append(usage.getInit()).append(",\"used\":").append(usage.getUsed());
    json.append(",\"committed\":").append(usage.getCommitted()).append(",\"max\":").append(usage.getMax()).append('}');
  }
}
