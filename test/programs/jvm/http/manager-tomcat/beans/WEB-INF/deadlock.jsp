<%@ page session="false" trimDirectiveWhitespaces="true" import="java.util.concurrent.CountDownLatch" %><%--
  Two daemon threads that wait for each other's lock until the JVM ends.
--%><%!
  private static final Object ONE = new Object();
  private static final Object OTHER = new Object();

  private static Thread taking(String name, Object first, Object second, CountDownLatch both) {
    Thread thread = new Thread(() -> {
      synchronized (first) {
        both.countDown();
        try { both.await(); } catch (InterruptedException ended) { return; }
        synchronized (second) { both.countDown(); }
      }
    }, name);
    thread.setDaemon(true);
    return thread;
  }
%><%
  CountDownLatch both = new CountDownLatch(2);
  taking("deadlocked one", ONE, OTHER, both).start();
  taking("deadlocked other", OTHER, ONE, both).start();
  both.await();
  out.print("deadlocked");
%>
