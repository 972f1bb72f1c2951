import java.io.File;

/**
 * The JVM of the demo. It allocates as a server does, so that its heap fills and collections happen. It ends when its
 * standard input closes, so it never outlives the demo. jvm-class.ts has the compiled class, since a JRE has no compiler;
 * a test compiles this file and compares.
 */
public final class SampleJvm extends Thread {
  private static final int PIECE_BYTES = 16 * 1024;
  /** Pieces that live for about a minute, as the data of sessions does; all others die young. */
  private final byte[][] kept = new byte[512][];

  @Override
  public void run() {
    for (int piece = 0; ; piece++) {
      byte[] bytes = new byte[PIECE_BYTES];
      if (piece % 16 == 0) kept[piece / 16 % kept.length] = bytes;
      if (piece % 32 == 0) rest(250);
    }
  }

  private static void rest(long ms) {
    try {
      sleep(ms);
    } catch (InterruptedException cause) {
      throw new IllegalStateException(cause);
    }
  }

  /** Prints its process id: the parent does not know it if `java` is a script that starts another process. */
  public static void main(String[] arguments) throws Exception {
    SampleJvm work = new SampleJvm();
    work.setDaemon(true);
    work.start();
    // Some counters are wrong until the first collection.
    System.gc();
    System.out.println(new File("/proc/self").getCanonicalFile().getName());
    while (System.in.read() >= 0) { }
    System.exit(0);
  }
}
