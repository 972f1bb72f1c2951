import java.io.File;

/**
 * The Java virtual machine of the demo: it allocates as a server does, so that its heap fills and collections happen. It ends with its
 * standard input: whatever becomes of the demo, the JVM does not outlive it. jvm-class.ts has the compiled class, since a JRE has no
 * compiler; a test compiles this file and compares.
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

  /** Prints its process id, which the parent does not know where `java` is a script that starts another process. */
  public static void main(String[] arguments) throws Exception {
    SampleJvm work = new SampleJvm();
    work.setDaemon(true);
    work.start();
    // Some counters are right from the first collection on.
    System.gc();
    System.out.println(new File("/proc/self").getCanonicalFile().getName());
    while (System.in.read() >= 0) { }
    System.exit(0);
  }
}
