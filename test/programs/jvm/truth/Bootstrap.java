package org.apache.catalina.startup;

/** Truth under the name of Tomcat's main class. */
public final class Bootstrap {
  public static void main(String[] arguments) throws Exception {
    Class.forName("Truth").getMethod("main", String[].class).invoke(null, (Object) arguments);
  }
}
